package openapi

import (
	"fmt"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	openapiv2 "k8s.io/apiextensions-apiserver/pkg/controller/openapi/v2"
	builderutil "k8s.io/kube-openapi/pkg/builder3/util"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

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

// objectSchema returns the definition of the kind of the resource.
func (r *resource) objectSchema(
	crd *apiextensions.CustomResourceDefinition, v *openAPIVersion, t *template,
) (*spec.Schema, error) {
	structural, err := structuralOf(crd, r.version)
	if err != nil {
		return nil, fmt.Errorf("describing CustomResourceDefinition %s: %w", crd.Name, err)
	}
	preserve := crd.Spec.PreserveUnknownFields
	schema := &spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}}}
	// kubectl treats properties as a complete list. If more are allowed or nothing is known, none may be listed, not even
	// metadata. Only version 3 can express that more are allowed.
	if structural != nil && (v == version3 || !structural.XPreserveUnknownFields && (preserve == nil || !*preserve)) {
		if v == version2 {
			dropDefaults(structural)
			structural = openapiv2.ToStructuralOpenAPIV2(structural)
		}
		schema = structural.ToKubeOpenAPI()
		if embeds(structural) {
			embedded(schema, v, t.object.Properties[embeddedProperty])
		}
		setCommonProperties(schema, t.object)
	}
	schema.AddExtension("x-kubernetes-group-version-kind",
		[]any{map[string]any{"group": r.group, "version": r.version, "kind": r.kind}})
	if r.selectable {
		schema.AddExtension("x-kubernetes-selectable-fields", r.fields)
	}
	if v == version3 {
		schema = builderutil.WrapRefs(schema)
	}
	return schema, nil
}

// setCommonProperties copies the properties that every object has.
func setCommonProperties(s *spec.Schema, from spec.Schema) {
	for _, name := range []string{"apiVersion", "kind", "metadata"} {
		s.SetProperty(name, from.Properties[name])
	}
}

// dropDefaults removes the defaults from a schema, because version 2 has none. Upstream removes them from copies of the
// finished definitions.
func dropDefaults(structural *structuralschema.Structural) {
	visitor := structuralschema.Visitor{Structural: func(s *structuralschema.Structural) bool {
		had := s.Default.Object != nil
		s.Default.Object = nil
		return had
	}}
	visitor.Visit(structural)
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

// embedded completes the schemas of embedded objects with the common properties of the sample's embedded object.
func embedded(s *spec.Schema, v *openAPIVersion, from spec.Schema) {
	for name, property := range s.Properties {
		embedded(&property, v, from)
		s.Properties[name] = property
	}
	if s.Items != nil && s.Items.Schema != nil {
		embedded(s.Items.Schema, v, from)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		embedded(s.AdditionalProperties.Schema, v, from)
	}
	if extended(s, "x-kubernetes-preserve-unknown-fields") && v == version2 ||
		!extended(s, "x-kubernetes-embedded-resource") {
		return
	}
	setCommonProperties(s, from)
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
