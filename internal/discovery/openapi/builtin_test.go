package openapi

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/emicklei/go-restful/v3"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/endpoints"
	"k8s.io/apiserver/pkg/endpoints/discovery"
	"k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/features"
	"k8s.io/apiserver/pkg/registry/rest"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/common/restfuladapter"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	builtin "github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/schemas"
)

// builtinStorage makes the installer describe a built-in resource. No operation runs.
type builtinStorage struct {
	rest.StandardStorage
	row *builtin.Definition
}

func (s builtinStorage) New() runtime.Object     { return s.row.Object }
func (s builtinStorage) NewList() runtime.Object { return s.row.List }
func (s builtinStorage) Destroy()                {}
func (s builtinStorage) NamespaceScoped() bool   { return s.row.Namespaced }
func (s builtinStorage) GetSingularName() string { return s.row.Singular }

// deletedStorage returns deleted objects.
type deletedStorage struct{ builtinStorage }

func (deletedStorage) DeleteReturnsDeletedObject() bool { return true }

// subresourceStorage makes the installer describe a subresource.
type subresourceStorage struct {
	rest.Patcher
	row *builtin.Definition
}

func (s subresourceStorage) New() runtime.Object { return s.row.Object }
func (subresourceStorage) Destroy()              {}

// coreRows are resources of core/v1.
var coreRows = []*builtin.Definition{
	{
		GroupVersion: corev1.SchemeGroupVersion, Kind: "ConfigMap", Plural: "configmaps", Singular: "configmap",
		Namespaced: true, Object: &corev1.ConfigMap{}, List: &corev1.ConfigMapList{},
	},
	{
		GroupVersion: corev1.SchemeGroupVersion, Kind: "Namespace", Plural: "namespaces", Singular: "namespace",
		Object: &corev1.Namespace{}, List: &corev1.NamespaceList{},
		Subresources: []builtin.Subresource{{Name: "status", Verbs: []string{"get", "patch", "update"}}},
	},
	{
		GroupVersion: corev1.SchemeGroupVersion, Kind: "ResourceQuota", Plural: "resourcequotas", Singular: "resourcequota",
		Namespaced: true, Object: &corev1.ResourceQuota{}, List: &corev1.ResourceQuotaList{}, ReturnsDeleted: true,
		Subresources: []builtin.Subresource{{Name: "status", Verbs: []string{"get", "patch", "update"}}},
	},
}

// coreServices returns the routes that apiserver's installer makes for the rows.
func coreServices(t *testing.T) []*restful.WebService {
	t.Helper()
	group := &endpoints.APIGroupVersion{
		Storage: map[string]rest.Storage{},
		Root:    "/api", GroupVersion: corev1.SchemeGroupVersion, OptionsExternalVersion: &schema.GroupVersion{Version: "v1"},
		Serializer: clientgoscheme.Codecs.WithoutConversion(), ParameterCodec: clientgoscheme.ParameterCodec,
		Typer: clientgoscheme.Scheme, Creater: clientgoscheme.Scheme, Convertor: clientgoscheme.Scheme,
		UnsafeConvertor: clientgoscheme.Scheme, Defaulter: clientgoscheme.Scheme,
		Namer:                      runtime.Namer(meta.NewAccessor()),
		TypeConverter:              managedfields.NewDeducedTypeConverter(),
		EquivalentResourceRegistry: runtime.NewEquivalentResourceRegistry(),
	}
	for _, row := range coreRows {
		group.Storage[row.Plural] = builtinStorage{row: row}
		if row.ReturnsDeleted {
			group.Storage[row.Plural] = deletedStorage{builtinStorage{row: row}}
		}
		for _, sub := range row.Subresources {
			group.Storage[row.Plural+"/"+sub.Name] = subresourceStorage{row: row}
		}
	}
	container := restful.NewContainer()
	container.Add(discovery.NewLegacyRootAPIHandler(nil, clientgoscheme.Codecs, "/api").WebService())
	if _, _, err := group.InstallREST(container); err != nil {
		t.Fatal(err)
	}
	return container.RegisteredWebServices()
}

// TestBuiltinEqualsUpstream compares the documents of built-in resources with those that kube-openapi's builder makes
// from the routes of apiserver's installer.
func TestBuiltinEqualsUpstream(t *testing.T) {
	t.Parallel()
	ours := NewStatic("v1", coreRows)
	for _, service := range coreServices(t) {
		path := service.RootPath()[1:]
		want, err := builder3.BuildOpenAPISpecFromRoutes(
			restfuladapter.AdaptWebServices([]*restful.WebService{service}), &common.OpenAPIV3Config{
				Info:            &spec.Info{InfoProps: spec.InfoProps{Title: "Kubernetes", Version: "v1"}},
				CommonResponses: map[int]*spec3.Response{401: {ResponseProps: spec3.ResponseProps{Description: unauthorized}}},
				//lint:ignore SA1019 upstream sets it too
				GetOperationIDAndTags: openapi.GetOperationIDAndTags,
				GetDefinitionName:     definitionName,
				GetDefinitions: func(common.ReferenceCallback) map[string]common.OpenAPIDefinition {
					all, err := newContainer(path, coreRows).definitions(schemas.PrefixV3, coreRows)
					if err != nil {
						t.Error(err)
					}
					(&container{groupVersion: corev1.SchemeGroupVersion}).scopeKinds(all)
					return all
				},
				SecuritySchemes: spec3.SecuritySchemes{"BearerToken": {SecuritySchemeProps: bearerToken}},
			})
		if err != nil {
			t.Fatal(err)
		}
		document, err := ours.DocumentV3(path)
		if err != nil || document == nil {
			t.Fatalf("the document of %s: %v, %v", path, document, err)
		}
		got := map[string]any{}
		if err := json.Unmarshal(document.Begin, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(plain(t, want), got); diff != "" {
			t.Errorf("%s: -upstream +ours\n%s", path, diff)
		}
	}
}

// madeUp is a kind without a definition.
type madeUp struct{ metav1.PartialObjectMetadata }

type madeUpList struct {
	metav1.PartialObjectMetadataList
}

// TestBuiltinWithoutDefinition describes a kind that the archive does not have.
func TestBuiltinWithoutDefinition(t *testing.T) {
	t.Parallel()
	rows := []*builtin.Definition{{
		GroupVersion: schema.GroupVersion{Group: "made.up", Version: "v1"}, Kind: "MadeUp", Plural: "madeups",
		Singular: "madeup", Object: &madeUp{}, List: &madeUpList{}, Verbs: []string{"get", "list"},
	}}
	s := NewStatic("v1", rows)
	document, err := s.DocumentV3("apis/made.up/v1")
	if err != nil {
		t.Fatal(err)
	}
	v3 := &spec3.OpenAPI{}
	if err := json.Unmarshal(document.Begin, v3); err != nil {
		t.Fatal(err)
	}
	if len(v3.Paths.Paths) != 3 || v3.Paths.Paths["/apis/made.up/v1/madeups/{name}"].Get == nil {
		t.Errorf("paths are %v", v3.Paths.Paths)
	}
	document, err = s.V2()
	if err != nil {
		t.Fatal(err)
	}
	if encoded, err := document.Protobuf(); err != nil || len(encoded) == 0 {
		t.Errorf("protobuf: %d bytes, %v", len(encoded), err)
	}
	v2 := &spec.Swagger{}
	if err := json.Unmarshal(document.bytes(), v2); err != nil {
		t.Fatal(err)
	}
	if v2.Paths.Paths["/apis/made.up/v1/madeups"].Get == nil {
		t.Error("version 2 does not describe the resource")
	}
}

// TestEnums checks that definitions have enums unless the feature gate is off.
func TestEnums(t *testing.T) {
	const enum = `"enum":["Active","Terminating"]` // the phases of a namespace
	enabled := NewStatic("v1", coreRows)
	before := enabled.Fingerprint()
	for _, on := range []bool{true, false} {
		featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.OpenAPIEnums, on)
		static := NewStatic("v1", coreRows)
		v3, err := static.DocumentV3("api/v1")
		if err != nil {
			t.Fatal(err)
		}
		v2, err := builtinV2(coreRows)
		if err != nil {
			t.Fatal(err)
		}
		encoded, err := json.Marshal(v2)
		if err != nil {
			t.Fatal(err)
		}
		for version, document := range map[string][]byte{"2": encoded, "3": v3.Begin} {
			if strings.Contains(string(document), enum) != on {
				t.Errorf("version %s has enums: %t, want %t", version, !on, on)
			}
		}
		if same := static.Fingerprint() == before; same != on {
			t.Errorf("the fingerprint is the same: %t", same)
		}
	}
}
