package openapi

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/emicklei/go-restful/v3"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	generatedopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/apiserver/pkg/endpoints"
	"k8s.io/apiserver/pkg/endpoints/discovery"
	"k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/registry/rest"
	utilopenapi "k8s.io/apiserver/pkg/util/openapi"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	openapibuilder "k8s.io/kube-openapi/pkg/builder"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/common/restfuladapter"
	"k8s.io/kube-openapi/pkg/handler"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/crd-server/crd-server/internal/crds"
)

var update = flag.Bool("update", false, "write static.json")

// TestStaticEqualsUpstream compares static.json with the documents that the libraries make for the routes that do not
// come from CRDs. After an upgrade of the libraries, run it with -update.
func TestStaticEqualsUpstream(t *testing.T) {
	t.Parallel()
	services := staticServices(t)
	want := map[string]any{"v2": staticV2(t, services), "v3": staticV3(t, services)}
	encoded, err := json.MarshalIndent(want, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	encoded = append(encoded, '\n')
	if *update {
		if err := os.WriteFile("static.json", encoded, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(strings.Split(string(encoded), "\n"), strings.Split(string(staticJSON), "\n")); diff != "" {
		t.Errorf("-upstream +static.json; run this test with -update\n%s", diff)
	}
}

// definitionStorage makes the installer describe the operations on CRDs. No operation runs.
type definitionStorage struct {
	rest.StandardStorage
	rest.SingularNameProvider
}

func (definitionStorage) New() runtime.Object { return &apiextensions.CustomResourceDefinition{} }
func (definitionStorage) NewList() runtime.Object {
	return &apiextensions.CustomResourceDefinitionList{}
}
func (definitionStorage) Destroy()                {}
func (definitionStorage) NamespaceScoped() bool   { return false }
func (definitionStorage) GetSingularName() string { return "customresourcedefinition" }

// statusStorage makes the installer describe the operations on the status of CRDs.
type statusStorage struct{ rest.Patcher }

func (statusStorage) New() runtime.Object { return &apiextensions.CustomResourceDefinition{} }
func (statusStorage) Destroy()            {}

// staticServices returns the routes that do not come from CRDs.
func staticServices(t *testing.T) []*restful.WebService {
	t.Helper()
	container := restful.NewContainer()
	container.Add(discovery.NewRootAPIsHandler(nil, crds.Codecs).WebService())
	container.Add(discovery.NewAPIGroupHandler(crds.Codecs, metav1.APIGroup{Name: apiextensionsv1.GroupName}).WebService())
	const purpose = "get the version information for this server"
	service := new(restful.WebService).Path("/version")
	service.Route(service.GET("/").To(func(*restful.Request, *restful.Response) {}).Doc(purpose).Operation(
		"getCodeVersion").
		Produces(restful.MIME_JSON).Consumes(restful.MIME_JSON).Writes(version.Info{}))
	container.Add(service)
	group := &endpoints.APIGroupVersion{
		Storage: map[string]rest.Storage{
			"customresourcedefinitions":        definitionStorage{},
			"customresourcedefinitions/status": statusStorage{},
		},
		Root: "/apis", GroupVersion: apiextensionsv1.SchemeGroupVersion,
		OptionsExternalVersion: &schema.GroupVersion{Version: "v1"},
		Serializer:             crds.Codecs, ParameterCodec: runtime.NewParameterCodec(crds.Scheme),
		Typer: crds.Scheme, Creater: crds.Scheme, Convertor: crds.Scheme, UnsafeConvertor: crds.Scheme,
		Defaulter:                  crds.Scheme,
		Namer:                      runtime.Namer(meta.NewAccessor()),
		TypeConverter:              managedfields.NewDeducedTypeConverter(),
		EquivalentResourceRegistry: runtime.NewEquivalentResourceRegistry(),
	}
	if _, _, err := group.InstallREST(container); err != nil {
		t.Fatal(err)
	}
	return container.RegisteredWebServices()
}

func generated(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
	return utilopenapi.GetOpenAPIDefinitionsWithoutDisabledFeatures(generatedopenapi.GetOpenAPIDefinitions)(ref)
}

func definitionNames() func(name string) (string, spec.Extensions) {
	definitions := runtime.NewScheme()
	definitions.AddKnownTypes(apiextensionsv1.SchemeGroupVersion,
		&apiextensionsv1.CustomResourceDefinition{}, &apiextensionsv1.CustomResourceDefinitionList{})
	return openapi.NewDefinitionNamer(clientgoscheme.Scheme, definitions).GetDefinitionName
}

// staticV2 returns the document of version 2 with everything that sections refer to.
func staticV2(t *testing.T, services []*restful.WebService) map[string]any {
	t.Helper()
	document, err := openapibuilder.BuildOpenAPISpecFromRoutes(restfuladapter.AdaptWebServices(services), &common.Config{
		ProtocolList: []string{"https"}, Info: &spec.Info{},
		CommonResponses: map[int]spec.Response{401: {ResponseProps: spec.ResponseProps{Description: unauthorized}}},
		//lint:ignore SA1019 upstream sets it too
		GetOperationIDAndTags: openapi.GetOperationIDAndTags,
		GetDefinitionName:     definitionNames(), GetDefinitions: generated,
		SecurityDefinitions: &spec.SecurityDefinitions{"BearerToken": {SecuritySchemeProps: spec.SecuritySchemeProps{
			Description: bearerToken.Description, Type: bearerToken.Type, Name: bearerToken.Name, In: bearerToken.In,
		}}},
		DefaultSecurity: []map[string][]string{{"BearerToken": {}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	everything := shape{namespaced: true, status: true, scale: true}
	custom, err := builder.BuildOpenAPIV2(everything.sample(), sample.version, builder.Options{V2: true})
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(document.Parameters, custom.Parameters)
	for name, definition := range custom.Definitions {
		if _, known := document.Definitions[name]; !known && !strings.HasPrefix(name, reversed(sample.group)) {
			document.Definitions[name] = definition
		}
	}
	document.Definitions = handler.PruneDefaults(document.Definitions)
	return withoutInfo(t, document)
}

// staticV3 returns the documents of version 3 by path.
func staticV3(t *testing.T, services []*restful.WebService) map[string]any {
	t.Helper()
	documents := map[string]any{}
	for _, service := range services {
		document, err := builder3.BuildOpenAPISpecFromRoutes(restfuladapter.AdaptWebServices([]*restful.WebService{service}),
			&common.OpenAPIV3Config{
				Info:            &spec.Info{},
				CommonResponses: map[int]*spec3.Response{401: {ResponseProps: spec3.ResponseProps{Description: unauthorized}}},
				//lint:ignore SA1019 upstream sets it too
				GetOperationIDAndTags: openapi.GetOperationIDAndTags,
				GetDefinitionName:     definitionNames(), GetDefinitions: generated,
				SecuritySchemes: spec3.SecuritySchemes{"BearerToken": {SecuritySchemeProps: bearerToken}},
			})
		if err != nil {
			t.Fatal(err)
		}
		documents[strings.TrimPrefix(service.RootPath(), "/")] = withoutInfo(t, document)
	}
	return documents
}

// withoutInfo returns a document without its title, which depends on the version of the server.
func withoutInfo(t *testing.T, document any) map[string]any {
	t.Helper()
	members := plain(t, document)
	delete(members, "info")
	return members
}
