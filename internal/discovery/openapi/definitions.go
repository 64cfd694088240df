package openapi

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	generatedopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apimachineryversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/apiserver/pkg/endpoints/openapi"
	utilopenapi "k8s.io/apiserver/pkg/util/openapi"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/kube-openapi/pkg/builder"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/handler"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Names of definitions that do not come from CRDs.
var (
	objectMetaName      = metav1.ObjectMeta{}.OpenAPIModelName()
	listMetaName        = metav1.ListMeta{}.OpenAPIModelName()
	typeMetaName        = metav1.TypeMeta{}.OpenAPIModelName()
	statusName          = metav1.Status{}.OpenAPIModelName()
	patchName           = metav1.Patch{}.OpenAPIModelName()
	deleteOptionsName   = metav1.DeleteOptions{}.OpenAPIModelName()
	watchEventName      = metav1.WatchEvent{}.OpenAPIModelName()
	apiGroupName        = metav1.APIGroup{}.OpenAPIModelName()
	apiGroupListName    = metav1.APIGroupList{}.OpenAPIModelName()
	apiResourceListName = metav1.APIResourceList{}.OpenAPIModelName()
	versionInfoName     = apimachineryversion.Info{}.OpenAPIModelName()
	scaleName           = autoscalingv1.Scale{}.OpenAPIModelName()
	definitionKindName  = apiextensionsv1.CustomResourceDefinition{}.OpenAPIModelName()
	definitionListName  = apiextensionsv1.CustomResourceDefinitionList{}.OpenAPIModelName()
)

// Names of the definitions that custom resources refer to, and of those that static operations refer to.
var (
	customNames = []string{objectMetaName, listMetaName, statusName, patchName, deleteOptionsName}
	staticNames = slices.Concat(customNames, []string{watchEventName, apiGroupName, apiGroupListName, apiResourceListName,
		versionInfoName, definitionKindName, definitionListName})
)

// openAPIVersion is what differs between the versions of OpenAPI.
type openAPIVersion struct {
	// prefix is the beginning of references to definitions.
	prefix string
	// definitions is the text between the paths and the definitions of a document, end the text after both.
	definitions, end string
	// protobuf encodes a document.
	protobuf func(document []byte) ([]byte, error)
	// typeMeta returns the properties that every kind has. They are shared and must not be modified.
	typeMeta func() map[string]spec.Schema
	// dependencies returns the names of the definitions that each definition refers to.
	dependencies func() map[string][]string
}

var (
	version2 = newOpenAPIVersion(openAPIVersion{
		prefix: "#/definitions/", definitions: `},"definitions":{`, end: "}}", protobuf: protobufV2,
	})
	version3 = newOpenAPIVersion(openAPIVersion{
		prefix: "#/components/schemas/", definitions: `},"components":{"schemas":{`, end: "}}}", protobuf: protobufV3,
	})
)

func newOpenAPIVersion(version openAPIVersion) *openAPIVersion {
	v := &version
	v.typeMeta = sync.OnceValue(func() map[string]spec.Schema { return v.generated(nil)[typeMetaName].Schema.Properties })
	v.dependencies = sync.OnceValue(func() map[string][]string {
		dependencies := map[string][]string{}
		for name, definition := range v.generated(nil) {
			dependencies[name] = definition.Dependencies
		}
		return dependencies
	})
	return v
}

func (v *openAPIVersion) ref(definition string) *spec.Schema {
	return spec.RefSchema(v.prefix + definition)
}

func (v *openAPIVersion) setTypeMeta(s *spec.Schema) {
	for _, name := range []string{"apiVersion", "kind"} {
		s.SetProperty(name, v.typeMeta()[name])
	}
}

// generated returns the definitions that upstream generates from Go types.
func (v *openAPIVersion) generated(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
	if ref == nil {
		ref = func(name string) spec.Ref { return spec.MustCreateRef(v.prefix + common.EscapeJsonPointer(name)) }
	}
	return utilopenapi.GetOpenAPIDefinitionsWithoutDisabledFeatures(generatedopenapi.GetOpenAPIDefinitions)(ref)
}

// namer knows the kinds of each definition. As in upstream's documents, kinds that are in every group are in all groups of
// Kubernetes.
var namer = sync.OnceValue(func() *openapi.DefinitionNamer {
	definitions := runtime.NewScheme()
	definitions.AddKnownTypes(apiextensionsv1.SchemeGroupVersion,
		&apiextensionsv1.CustomResourceDefinition{}, &apiextensionsv1.CustomResourceDefinitionList{})
	return openapi.NewDefinitionNamer(clientgoscheme.Scheme, definitions)
})

// shared are definitions that sections refer to.
type shared struct {
	// custom are those of all custom resources, scale those that the scale subresource needs besides, static all but scale.
	custom, scale, static spec.Definitions
}

// reserve returns an error if a definition of a CRD has the name of a shared one.
func (s *shared) reserve(definitions spec.Definitions) error {
	for name := range definitions {
		_, static := s.static[name]
		_, scale := s.scale[name]
		if static || scale {
			return fmt.Errorf("the definition %s is Kubernetes' own", name)
		}
	}
	return nil
}

var sharedV2 = sync.OnceValues(func() (*shared, error) {
	return newShared(func(names []string) (spec.Definitions, error) {
		swagger, err := builder.BuildOpenAPIDefinitionsForResources(&common.Config{
			Info:              &spec.Info{},
			GetDefinitionName: namer().GetDefinitionName,
			GetDefinitions:    version2.generated,
		}, names...)
		if err != nil {
			return nil, err
		}
		return handler.PruneDefaults(swagger.Definitions), nil
	})
})

var sharedV3 = sync.OnceValues(func() (*shared, error) {
	return newShared(func(names []string) (spec.Definitions, error) {
		schemas, err := builder3.BuildOpenAPIDefinitionsForResources(&common.OpenAPIV3Config{
			Info:              &spec.Info{},
			GetDefinitionName: namer().GetDefinitionName,
			GetDefinitions:    version3.generated,
		}, names...)
		definitions := spec.Definitions{}
		for name, schema := range schemas {
			definitions[name] = *schema
		}
		return definitions, err
	})
})

func newShared(build func(names []string) (spec.Definitions, error)) (*shared, error) {
	s := &shared{}
	var err error
	for _, set := range []struct {
		definitions *spec.Definitions
		names       []string
	}{{&s.custom, customNames}, {&s.scale, []string{scaleName}}, {&s.static, staticNames}} {
		if *set.definitions, err = build(set.names); err != nil {
			return nil, fmt.Errorf("building the definitions of %s: %w", strings.Join(set.names, ", "), err)
		}
	}
	maps.DeleteFunc(s.scale, func(name string, _ spec.Schema) bool { _, known := s.custom[name]; return known })
	return s, nil
}
