package validation

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	generatedopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/schemaconv"
	"k8s.io/kube-openapi/pkg/validation/spec"
	smdschema "sigs.k8s.io/structured-merge-diff/v6/schema"
)

const modelPrefix = "#/components/schemas/"

var (
	objectMetaModel = metav1.ObjectMeta{}.OpenAPIModelName()
	scaleModel      = autoscalingv1.Scale{}.OpenAPIModelName()
)

// builtInTypes returns the types that the models of CRDs refer to, and Scale. There are two sets, since preserving
// unknown fields (T5) reaches into metadata as well. They are made once and shared: per CRD they would cost more than
// most schemas do.
func builtInTypes(preserveUnknownFields bool) ([]smdschema.TypeDef, error) {
	if preserveUnknownFields {
		return lenientBuiltInTypes()
	}
	return strictBuiltInTypes()
}

var (
	strictBuiltInTypes  = sync.OnceValues(func() ([]smdschema.TypeDef, error) { return convertBuiltInTypes(false) })
	lenientBuiltInTypes = sync.OnceValues(func() ([]smdschema.TypeDef, error) { return convertBuiltInTypes(true) })
)

func convertBuiltInTypes(preserveUnknownFields bool) ([]smdschema.TypeDef, error) {
	definitions := generatedopenapi.GetOpenAPIDefinitions(func(name string) spec.Ref {
		return spec.MustCreateRef(modelPrefix + common.EscapeJsonPointer(name))
	})
	models := map[string]*spec.Schema{}
	var need func(name string)
	need = func(name string) {
		if _, ok := models[name]; ok {
			return
		}
		definition := definitions[name]
		models[name] = &definition.Schema
		for _, dependency := range definition.Dependencies {
			need(dependency)
		}
	}
	need(objectMetaModel)
	need(scaleModel)
	converted, err := schemaconv.ToSchemaFromOpenAPI(models, preserveUnknownFields)
	if err != nil {
		return nil, fmt.Errorf("converting the types of metadata: %w", err)
	}
	return converted.Types, nil
}

// convertModel returns the types of a version's objects under the given name, without those they refer to.
func (v *Version) convertModel(name string) ([]smdschema.TypeDef, error) {
	structural, err := v.Structural()
	if err != nil {
		return nil, err
	}
	models := map[string]*spec.Schema{name: objectModel(structural, v.count())}
	converted, err := schemaconv.ToSchemaFromOpenAPI(models, v.set.crd.Spec.PreserveUnknownFields)
	if err != nil {
		return nil, fmt.Errorf("converting the schema of %s to types: %w", name, err)
	}
	return slices.DeleteFunc(converted.Types, func(def smdschema.TypeDef) bool { return def.Name != name }), nil
}

// objectModel returns the OpenAPI model of whole objects. Nothing is said about their fields without a structural schema, or with one
// that does not keep the rules for them, as CRDs from before those were enforced (T5) may have.
func objectModel(structural *structuralschema.Structural, nodes census) *spec.Schema {
	if structural == nil || nodes.unknownTypes || len(structuralschema.ValidateStructural(nil, structural)) > 0 {
		return new(spec.Schema).Typed("object", "")
	}
	model := structural.ToKubeOpenAPI()
	addResourceFields(model)
	if nodes.embedded {
		addEmbeddedResourceFields(model)
	}
	return model
}

func addEmbeddedResourceFields(s *spec.Schema) {
	if s == nil {
		return
	}
	for name, property := range s.Properties {
		addEmbeddedResourceFields(&property)
		s.Properties[name] = property
	}
	if s.Items != nil {
		addEmbeddedResourceFields(s.Items.Schema)
	}
	if s.AdditionalProperties != nil {
		addEmbeddedResourceFields(s.AdditionalProperties.Schema)
	}
	if embedded, _ := s.Extensions.GetBool("x-kubernetes-embedded-resource"); embedded {
		addResourceFields(s)
	}
}

// addResourceFields adds what every resource has, instead of what the schema says of it.
func addResourceFields(s *spec.Schema) {
	s.SetProperty("apiVersion", *spec.StringProperty())
	s.SetProperty("kind", *spec.StringProperty())
	s.SetProperty("metadata", *spec.RefSchema(modelPrefix + objectMetaModel))
}

// modelName is the name of the model of a kind, the group's parts in reverse as in those of built-in kinds.
func modelName(group, version, kind string) string {
	parts := strings.Split(group, ".")
	slices.Reverse(parts)
	return strings.Join(append(parts, version, kind), ".")
}
