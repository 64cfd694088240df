package crdhandler

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/types"
	upstream "k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/crdhandler/customresources"
	"github.com/crd-server/crd-server/internal/crdhandler/objectmeta"
	"github.com/crd-server/crd-server/internal/crdhandler/stored"
	"github.com/crd-server/crd-server/internal/crdhandler/write"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/etcdtest"
	"github.com/crd-server/crd-server/internal/managedfields"
)

// widgets is the resource of the tests of writes. Its objects have no schema.
var widgets = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}

// writes is a server of widgets.
type writes struct {
	*testing.T
	config *Config
	scope  *requestScope
	// subresources are the scopes of status and scale, if a test has them.
	subresources map[string]*requestScope
	// keys is the prefix of the keys of widgets in the namespace ns.
	keys string
	url  string
}

// newWrites starts a server of widgets in the etcd of the package; configure may change it before it serves.
func newWrites(t *testing.T, configure func(*writes)) *writes {
	t.Helper()
	return newWritesOn(t, etcd, configure)
}

// newWritesOn is newWrites with a given etcd.
func newWritesOn(t *testing.T, e *etcdtest.Etcd, configure func(*writes)) *writes {
	t.Helper()
	f := &writes{
		T: t, config: &Config{MaxRequestBodyBytes: 3 << 20, GarbageCollection: true},
		keys: e.Prefix(t) + "/example.com/widgets/ns/",
	}
	f.config.Store = newStore(t, dynamicstorage.Options{Client: e.Client, Prefix: e.Prefix(t), Header: widgetHeader})
	f.scope = widgetScope(f.config)
	if configure != nil {
		configure(f)
	}
	server := httptest.NewServer(filters.WithWarningRecorder(requestInfo(f)))
	t.Cleanup(server.Close)
	f.url = server.URL + "/apis/" + f.scope.Resource.Group + "/" + f.scope.Resource.Version
	if f.scope.Namespaced {
		f.url += "/namespaces/ns"
	}
	f.url += "/" + f.scope.Resource.Resource
	return f
}

// requestInfo does the work of the handler in front of the verbs. In the namespace "terminating" the CRD is being
// deleted.
func requestInfo(f *writes) http.Handler {
	resolver := &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis")}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		info, err := resolver.NewRequestInfo(req)
		if err != nil {
			f.Error(err)
			return
		}
		ctx := request.WithUser(request.WithRequestInfo(req.Context(), info), &user.DefaultInfo{Name: "somebody"})
		scope := f.scope
		if info.Subresource != "" {
			scope = f.subresources[info.Subresource]
		}
		scope.verb(info.Verb, info.Namespace == "terminating")(w, req.WithContext(ctx))
	})
}

func widgetHeader(value []byte) (dynamicstorage.Header, error) {
	m := &metav1.PartialObjectMetadata{}
	if err := json.Unmarshal(value, m); err != nil {
		return dynamicstorage.Header{}, err
	}
	return dynamicstorage.Header{Labels: dynamicstorage.PairsOf(m.Labels), Deleting: m.DeletionTimestamp != nil}, nil
}

func widgetScope(config *Config) *requestScope {
	kind := widgets.GroupVersion().WithKind("Widget")
	codec := plainCodec{}
	scope := &requestScope{
		config: config,
		Endpoint: write.Endpoint{
			Policy: &config.Policy, Resource: widgets, Kind: kind, Namespaced: true,
			Interfaces: write.Interfaces{
				Creater: customresources.Creater, Typer: customresources.Typer{}, Defaulter: runtime.NewScheme(),
				Convertor:   widgetConvertor{},
				Equivalents: runtime.NewEquivalentResourceRegistry(),
			},
			Strategy: &widgetStrategy{},
			Objects: &stored.Objects{
				Resource: config.Store.Resource(widgets.Group, widgets.Resource), Of: widgets.GroupResource(), Codec: codec,
				Viewer: dynamicstorage.NewViewer(codec.views),
			},
		},
		listKind: widgets.GroupVersion().WithKind("WidgetList"),
		hub:      widgets.GroupVersion(), serializer: widgetSerializer{},
		patchTypes: []string{string(types.JSONPatchType), string(types.MergePatchType),
			string(types.ApplyYAMLPatchType)},
		lists:    &compressedLists{},
		replaced: context.Background(),
	}
	scope.fieldManager = func() (managedfields.Manager, error) {
		config := scope.fieldManagerConfig()
		config.Types = upstream.NewDeducedTypeConverter()
		return managedfields.NewLibrary(config)
	}
	return scope
}

// widgetStrategy counts generations and refuses widgets whose spec.bad is true.
type widgetStrategy struct {
	resource.Rules

	// prepared, if set, is called when an object is prepared, validated when it is validated.
	prepared, validated func()
}

// AllowUnconditionalUpdate returns false.
func (s *widgetStrategy) AllowUnconditionalUpdate(context.Context) bool { return false }

func (s *widgetStrategy) PrepareForCreate(_ context.Context, obj runtime.Object) {
	if s.prepared != nil {
		s.prepared()
	}
	objectmeta.Accessor(obj).SetGeneration(1)
}

func (s *widgetStrategy) Validate(_ context.Context, obj runtime.Object) (errs field.ErrorList) {
	if s.validated != nil {
		s.validated()
	}
	if bad, _, _ := unstructured.NestedBool(obj.(*unstructured.Unstructured).Object, "spec", "bad"); bad {
		errs = append(errs, field.Invalid(field.NewPath("spec", "bad"), true, "no bad widgets"))
	}
	return errs
}

func (*widgetStrategy) WarningsOnCreate(context.Context, runtime.Object) []string {
	return []string{"created"}
}

func (s *widgetStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	if s.prepared != nil {
		s.prepared()
	}
	now, before := obj.(*unstructured.Unstructured), old.(*unstructured.Unstructured)
	if fmt.Sprint(now.Object["spec"]) != fmt.Sprint(before.Object["spec"]) {
		now.SetGeneration(before.GetGeneration() + 1)
	}
}

func (s *widgetStrategy) ValidateUpdate(ctx context.Context, obj, _ runtime.Object) field.ErrorList {
	return s.Validate(ctx, obj)
}

func (*widgetStrategy) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

func (*widgetStrategy) Canonicalize(runtime.Object) {}

// widgetConvertor converts to the only version.
type widgetConvertor struct{}

func (widgetConvertor) Convert(in, out, _ any) error {
	out.(*unstructured.Unstructured).Object = in.(*unstructured.Unstructured).Object
	return nil
}

func (widgetConvertor) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in, nil
}

func (widgetConvertor) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	if label != "metadata.name" && label != "metadata.namespace" {
		return "", "", fmt.Errorf("field label not supported: %s", label)
	}
	return label, value, nil
}

// widgetSerializer reads and writes JSON and YAML without a schema.
type widgetSerializer struct{}

func (widgetSerializer) SupportedMediaTypes() []runtime.SerializerInfo {
	serializer := func(options jsonserializer.SerializerOptions) runtime.Serializer {
		return jsonserializer.NewSerializerWithOptions(jsonserializer.DefaultMetaFactory, customresources.Creater,
			customresources.Typer{}, options)
	}
	return []runtime.SerializerInfo{{
		MediaType: runtime.ContentTypeJSON, MediaTypeType: "application", MediaTypeSubType: "json", EncodesAsText: true,
		Serializer:       serializer(jsonserializer.SerializerOptions{}),
		StrictSerializer: serializer(jsonserializer.SerializerOptions{Strict: true}),
	}, {
		MediaType: runtime.ContentTypeYAML, MediaTypeType: "application", MediaTypeSubType: "yaml", EncodesAsText: true,
		Serializer:       serializer(jsonserializer.SerializerOptions{Yaml: true}),
		StrictSerializer: serializer(jsonserializer.SerializerOptions{Yaml: true, Strict: true}),
	}}
}

func (widgetSerializer) EncoderForVersion(encoder runtime.Encoder, _ runtime.GroupVersioner) runtime.Encoder {
	return statusEncoder{encoder}
}

func (widgetSerializer) DecoderToVersion(decoder runtime.Decoder, _ runtime.GroupVersioner) runtime.Decoder {
	return decoder
}

// statusEncoder sets the kind of a Status.
type statusEncoder struct{ runtime.Encoder }

func (e statusEncoder) Encode(obj runtime.Object, w io.Writer) error {
	if status, ok := obj.(*metav1.Status); ok {
		status.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Status"})
	}
	return e.Encoder.Encode(obj, w)
}

// widget returns the JSON of a widget with a name and more members of its metadata.
func widget(name, metadata, spec string) string {
	if metadata != "" {
		metadata = "," + metadata
	}
	return fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":%q%s},"spec":%s}`, name,
		metadata, spec)
}

// created creates a widget.
func (f *writes) created(name, metadata string) *unstructured.Unstructured {
	f.Helper()
	return f.do(call{method: "POST", body: widget(name, metadata, `{"size":1}`)}).is(201).obj
}

// get reads a widget.
func (f *writes) get(name string) reply {
	f.Helper()
	return f.do(call{method: "GET", path: "/" + name})
}
