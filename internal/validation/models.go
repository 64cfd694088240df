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

// builtInTypes returns the types that the models of CRDs refer to, and Scale. There are two sets because preserveUnknownFields (T5)
// affects metadata as well. All CRDs share them: a copy for each CRD would take more memory than most schemas.
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

// convertModel returns the type of the version's objects under the given name, without the types it refers to.
func (v *Version) convertModel(name string) ([]smdschema.TypeDef, error) {
	structural, err := v.Structural()
	if err != nil {
		return nil, err
	}
	models := map[string]*spec.Schema{name: objectModel(structural, v.statistics())}
	converted, err := schemaconv.ToSchemaFromOpenAPI(models, v.set.crd.Spec.PreserveUnknownFields)
	if err != nil {
		return nil, fmt.Errorf("converting the schema of %s to types: %w", name, err)
	}
	return slices.DeleteFunc(converted.Types, func(def smdschema.TypeDef) bool { return def.Name != name }), nil
}

// objectModel returns the OpenAPI model of whole objects. It does not describe their fields if there is no valid structural schema,
// which only CRDs created before v1 lack (T5).
func objectModel(structural *structuralschema.Structural, stats schemaStatistics) *spec.Schema {
	if structural == nil || stats.unknownTypes || len(structuralschema.ValidateStructural(nil, structural)) > 0 {
		return new(spec.Schema).Typed("object", "")
	}
	model := structural.ToKubeOpenAPI()
	addResourceFields(model)
	if stats.embedded {
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

// addResourceFields sets the fields that every resource has, whatever the schema declares for them.
func addResourceFields(s *spec.Schema) {
	s.SetProperty("apiVersion", *spec.StringProperty())
	s.SetProperty("kind", *spec.StringProperty())
	s.SetProperty("metadata", *spec.RefSchema(modelPrefix + objectMetaModel))
}

// modelName returns the name of the model of a kind. The parts of the group are reversed, as for built-in kinds.
func modelName(group, version, kind string) string {
	parts := strings.Split(group, ".")
	slices.Reverse(parts)
	return strings.Join(append(parts, version, kind), ".")
}
