package validation

import (
	"sync"
	"sync/atomic"

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

	structural    lazy[*structuralschema.Structural]
	stats         lazy[schemaStatistics]
	objects       lazy[objectSchema]
	openAPI       lazy[*spec.Schema]
	statusOpenAPI lazy[*spec.Schema]
	celValidator  lazy[*cel.Validator]
	parseableType lazy[*typed.ParseableType]
}

// Name returns the version's name.
func (v *Version) Name() string {
	return v.spec.Name
}

func (v *Version) groupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: v.set.kind.Group, Version: v.spec.Name}
}

// used reports whether the version is served or is the storage version.
func (v *Version) used() bool {
	return v.spec.Served || v.spec.Storage
}

// HasStatus reports whether the version declares the status subresource.
func (v *Version) HasStatus() bool {
	return v.spec.Subresources != nil && v.spec.Subresources.Status != nil
}

// HasScale returns the scale subresource of the version, nil if it declares none.
func (v *Version) HasScale() *apiextensionsv1.CustomResourceSubresourceScale {
	if v.spec.Subresources == nil {
		return nil
	}
	return v.spec.Subresources.Scale
}

// creationTimestampDescription describes the Age column.
var creationTimestampDescription = metav1.ObjectMeta{}.SwaggerDoc()["creationTimestamp"]

// Columns returns the declared printer columns, or the Age column if there are none. The caller must not modify them.
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

// ResetFields returns the fields that a write of the main resource does not own: the status if it is a subresource.
func (v *Version) ResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	fields := map[fieldpath.APIVersion]*fieldpath.Set{}
	if v.HasStatus() {
		fields[v.apiVersion()] = fieldpath.NewSet(fieldpath.MakePathOrDie("status"))
	}
	return fields
}

// StatusResetFields returns the fields that a write of the status does not own: metadata and spec. It returns them for
// every version of the CRD that has the subresource, since managed fields may be recorded in any of them.
func (s *Set) StatusResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	fields := map[fieldpath.APIVersion]*fieldpath.Set{}
	notStatus := fieldpath.NewSet(fieldpath.MakePathOrDie("metadata"), fieldpath.MakePathOrDie("spec"))
	for _, v := range s.versions {
		if v.used() && v.HasStatus() {
			fields[v.apiVersion()] = notStatus
		}
	}
	return fields
}

func (v *Version) apiVersion() fieldpath.APIVersion {
	return fieldpath.APIVersion(v.groupVersion().String())
}

// lazy holds a value that is built on first use. Unlike sync.OnceValues it needs no closure in advance, so an unused
// CRD costs only zero values. The zero lazy is ready to use. It must not be copied.
type lazy[T any] struct {
	built atomic.Pointer[result[T]]
	mu    sync.Mutex // held while building, so that the value is built only once
}

// result is a value or the error of building it. Errors are kept because building again would fail again.
type result[T any] struct {
	value T
	err   error
}

// get returns the value; the first call builds it.
func (l *lazy[T]) get(build func() (T, error)) (T, error) {
	if o := l.built.Load(); o != nil {
		return o.value, o.err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if o := l.built.Load(); o != nil {
		return o.value, o.err
	}
	o := &result[T]{}
	o.value, o.err = build()
	l.built.Store(o)
	return o.value, o.err
}

// peek returns the result, nil if get has not been called.
func (l *lazy[T]) peek() *result[T] { return l.built.Load() }
