package openapi

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	openapiv2 "k8s.io/apiextensions-apiserver/pkg/controller/openapi/v2"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	builderutil "k8s.io/kube-openapi/pkg/builder3/util"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

var (
	objectMetaDescription = metav1beta1.PartialObjectMetadata{}.SwaggerDoc()["metadata"]
	listMetaDescription   = metav1beta1.PartialObjectMetadataList{}.SwaggerDoc()["metadata"]
)

// Descriptions of apiVersion and kind in embedded objects.
const (
	embeddedAPIVersion = "apiVersion defines the versioned schema of this representation of an object. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources"
	embeddedKind       = "kind is a string value representing the type of this object. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"
)

// definitions returns the definitions of the kind and its list, by name.
func (r *resource) definitions(crd *apiextensions.CustomResourceDefinition, v *openAPIVersion) (spec.Definitions, error) {
	structural, err := structuralOf(crd, r.version)
	if err != nil {
		return nil, fmt.Errorf("describing CustomResourceDefinition %s: %w", crd.Name, err)
	}
	preserve := crd.Spec.PreserveUnknownFields
	object := r.objectSchema(structural, preserve != nil && *preserve, v)
	list := r.listSchema(v)
	if selectable := selectableFields(crd, r.version); len(selectable) > 0 {
		fields := make([]any, 0, len(selectable))
		for _, field := range selectable {
			fields = append(fields, map[string]any{"fieldPath": strings.TrimPrefix(field.JSONPath, ".")})
		}
		object.AddExtension(extensionSelectable, fields)
		list.AddExtension(extensionSelectable, fields)
	}
	definitions := spec.Definitions{r.object: *object, r.list: *list}
	if v == version2 {
		return definitions, nil
	}
	for name, schema := range definitions {
		definitions[name] = *builderutil.WrapRefs(&schema)
	}
	return definitions, nil
}

// selectableFields returns the fields of a version, or those that all versions share.
func selectableFields(crd *apiextensions.CustomResourceDefinition, version string) []apiextensions.SelectableField {
	for n := range crd.Spec.Versions {
		if v := &crd.Spec.Versions[n]; v.Name == version && len(v.SelectableFields) > 0 {
			return v.SelectableFields
		}
	}
	return crd.Spec.SelectableFields
}

// structuralOf returns nil for a schema that is missing or not structural. Documents do not describe such objects.
func structuralOf(crd *apiextensions.CustomResourceDefinition, version string) (*structuralschema.Structural, error) {
	declared, err := apiextensions.GetSchemaForVersion(crd, version)
	if err != nil || declared == nil || declared.OpenAPIV3Schema == nil {
		return nil, err
	}
	schema := declared.OpenAPIV3Schema
	if validation.SchemaHasInvalidTypes(schema) {
		return nil, nil
	}
	structural, err := structuralschema.NewStructural(schema)
	if err != nil || len(structuralschema.ValidateStructural(nil, structural)) > 0 {
		return nil, nil //nolint:nilerr // the CRD's conditions say what is wrong with it
	}
	return structural.Unfold(), nil
}

func (r *resource) objectSchema(structural *structuralschema.Structural, preserveUnknownFields bool, v *openAPIVersion) *spec.Schema {
	schema := &spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}}}
	// kubectl treats properties as a complete list. If more are allowed or nothing is known, none may be listed, not even
	// metadata. Only version 3 can express that more are allowed.
	anything := structural == nil || v == version2 && (structural.XPreserveUnknownFields || preserveUnknownFields)
	if !anything {
		if v == version2 {
			dropDefaults(structural)
			structural = openapiv2.ToStructuralOpenAPIV2(structural)
		}
		schema = structural.ToKubeOpenAPI()
		if embeds(structural) {
			embedded(schema, v)
		}
		schema.SetProperty("metadata", *v.ref(objectMetaName).WithDescription(objectMetaDescription))
		v.setTypeMeta(schema)
	}
	schema.AddExtension(extensionKind, r.kindExtension(r.kind))
	return schema
}

// dropDefaults removes the defaults from a schema, because version 2 has none. Upstream removes them from copies of the finished
// definitions.
func dropDefaults(structural *structuralschema.Structural) {
	visitor := structuralschema.Visitor{Structural: func(s *structuralschema.Structural) bool {
		had := s.Default.Object != nil
		s.Default.Object = nil
		return had
	}}
	visitor.Visit(structural)
}

func (r *resource) listSchema(v *openAPIVersion) *spec.Schema {
	schema := new(spec.Schema).
		Typed("object", "").
		WithDescription(r.listKind+" is a list of "+r.kind).
		WithRequired("items").
		SetProperty("items", *spec.ArrayProperty(v.ref(r.object)).WithDescription("List of " + r.plural +
			". More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md")).
		SetProperty("metadata", *v.ref(listMetaName).WithDescription(listMetaDescription))
	v.setTypeMeta(schema)
	schema.AddExtension(extensionKind, r.kindExtension(r.listKind))
	return schema
}

func (r *resource) kindExtension(kind string) []any {
	return []any{map[string]any{"group": r.group, "version": r.version, "kind": kind}}
}

// embeds says whether the schema has embedded objects.
func embeds(structural *structuralschema.Structural) bool {
	found := false
	visitor := structuralschema.Visitor{Structural: func(s *structuralschema.Structural) bool {
		found = found || s.XEmbeddedResource
		return false
	}}
	visitor.Visit(structural)
	return found
}

// embedded completes the schemas of embedded objects.
func embedded(s *spec.Schema, v *openAPIVersion) {
	for name, property := range s.Properties {
		embedded(&property, v)
		s.Properties[name] = property
	}
	if s.Items != nil && s.Items.Schema != nil {
		embedded(s.Items.Schema, v)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		embedded(s.AdditionalProperties.Schema, v)
	}
	if extended(s, "x-kubernetes-preserve-unknown-fields") && v == version2 || !extended(s, "x-kubernetes-embedded-resource") {
		return
	}
	typeMeta := v.typeMeta()
	apiVersion, kind := typeMeta["apiVersion"], typeMeta["kind"]
	s.SetProperty("apiVersion", *apiVersion.WithDescription(embeddedAPIVersion))
	s.SetProperty("kind", *kind.WithDescription(embeddedKind))
	s.SetProperty("metadata", *v.ref(objectMetaName).WithDescription(objectMetaDescription))
	for _, required := range []string{"kind", "apiVersion"} {
		if !slices.Contains(s.Required, required) {
			s.Required = append(s.Required, required)
		}
	}
}

func extended(s *spec.Schema, extension string) bool {
	set, ok := s.Extensions.GetBool(extension)
	return ok && set
}
