package validation

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// Version holds the compiled parts of one version of a CRD. It is safe for concurrent use.
type Version struct {
	set  *Set
	spec *apiextensionsv1.CustomResourceDefinitionVersion

	structural        lazy[*structuralschema.Structural]
	nodes             lazy[*node]
	uniqueLists       lazy[*uniqueLists]
	embeddedResources lazy[*structuralschema.Structural]
	keyedLists        lazy[*structuralschema.Structural]
	objectSchema      lazy[*spec.Schema]
	statusSchema      lazy[*spec.Schema]
	celValidator      lazy[*cel.Validator]
	selectableFields  lazy[[]selectableField]
	parseableType     lazy[*typed.ParseableType]
	census            lazy[census]
}

// Name returns the version's name.
func (v *Version) Name() string {
	return v.spec.Name
}

func (v *Version) groupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: v.set.kind.Group, Version: v.spec.Name}
}

// used says whether objects of the version can be read or written: it is served, or what is stored.
func (v *Version) used() bool {
	return v.spec.Served || v.spec.Storage
}

// HasStatus says whether the version declares the status subresource.
func (v *Version) HasStatus() bool {
	return v.spec.Subresources != nil && v.spec.Subresources.Status != nil
}

// HasScale returns the scale subresource that the version declares, nil if it declares none.
func (v *Version) HasScale() *apiextensionsv1.CustomResourceSubresourceScale {
	if v.spec.Subresources == nil {
		return nil
	}
	return v.spec.Subresources.Scale
}

// creationTimestampDescription describes the Age column.
var creationTimestampDescription = metav1.ObjectMeta{}.SwaggerDoc()["creationTimestamp"]

// Columns returns the printer columns beside the name: those declared, or else the age. The caller must not modify them.
func (v *Version) Columns() []apiextensionsv1.CustomResourceColumnDefinition {
	if len(v.spec.AdditionalPrinterColumns) > 0 {
		return v.spec.AdditionalPrinterColumns
	}
	return []apiextensionsv1.CustomResourceColumnDefinition{{
		Name:        "Age",
		Type:        "date",
		Description: creationTimestampDescription,
		JSONPath:    ".metadata.creationTimestamp",
	}}
}

// Compile compiles what writing an object needs. Without it, each part is compiled when it is first needed.
func (v *Version) Compile() error {
	if _, err := v.parts(); err != nil {
		return err
	}
	_, err := v.parseableType.get(v.compileParseableType)
	return err
}

// ResetFields returns the fields that a write of the main resource does not own: the status, where it is a
// subresource.
func (v *Version) ResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	fields := map[fieldpath.APIVersion]*fieldpath.Set{}
	if v.HasStatus() {
		fields[v.apiVersion()] = fieldpath.NewSet(fieldpath.MakePathOrDie("status"))
	}
	return fields
}

// StatusResetFields returns the fields that a write of the status does not own: metadata and spec. They are told for
// every version of the CRD that has the subresource, since a manager's fields may be recorded in any of them.
func (v *Version) StatusResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	fields := map[fieldpath.APIVersion]*fieldpath.Set{}
	for _, other := range v.set.versions {
		if other.used() && other.HasStatus() {
			fields[other.apiVersion()] = fieldpath.NewSet(
				fieldpath.MakePathOrDie("metadata"),
				fieldpath.MakePathOrDie("spec"),
			)
		}
	}
	return fields
}

func (v *Version) apiVersion() fieldpath.APIVersion {
	return fieldpath.APIVersion(v.groupVersion().String())
}
