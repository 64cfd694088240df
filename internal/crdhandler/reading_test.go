package crdhandler

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	genericfilters "k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/crd-server/crd-server/internal/crdhandler/customresources"
	"github.com/crd-server/crd-server/internal/crdhandler/printing"
	"github.com/crd-server/crd-server/internal/crdhandler/stored"
	"github.com/crd-server/crd-server/internal/crdhandler/write"
	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/etcdtest"
	"github.com/crd-server/crd-server/internal/objectjson"
)

// reading is a server of gadgets.example.com in front of etcd. Gadgets are namespaced, and spec.color is selectable.
type reading struct {
	t      testing.TB
	client *clientv3.Client
	// keys is the prefix of the keys of gadgets.
	keys    string
	scope   *requestScope
	replace context.CancelFunc
	url     string
}

// future is more revisions than all tests together make.
const future = 1 << 30

var gadgets = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gadgets"}

func newReading(t testing.TB) *reading {
	t.Helper()
	return newReadingOn(t, etcd)
}

// newReadingOn is newReading with a given etcd, for a test that compacts it.
func newReadingOn(t testing.TB, e *etcdtest.Etcd) *reading {
	t.Helper()
	replaced, replace := context.WithCancel(t.Context())
	r := &reading{t: t, client: e.Client, keys: e.Prefix(t) + "/example.com/gadgets/", replace: replace}
	store := newStore(t, dynamicstorage.Options{Client: e.Client, Prefix: e.Prefix(t), Header: widgetHeader})
	r.scope = testScope(store, replaced)

	resolver := &request.RequestInfoFactory{APIPrefixes: sets.NewString("apis", "api"),
		GrouplessAPIPrefixes: sets.NewString("api")}
	server := httptest.NewServer(genericfilters.WithRequestInfo(http.HandlerFunc(func(w http.ResponseWriter,
		req *http.Request) {
		info, _ := request.RequestInfoFrom(req.Context())
		r.scope.verb(info.Verb, false)(w, req)
	}), resolver))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	r.url = server.URL + "/apis/example.com/v1"
	return r
}

func testScope(store *dynamicstorage.Store, replaced context.Context) *requestScope {
	kind := schema.GroupVersionKind{Group: gadgets.Group, Version: gadgets.Version, Kind: "Gadget"}
	serializer, standard := customresources.NewSerializer(nil, gadgetConvertor{})
	config := &Config{Store: store, MinRequestTimeout: time.Minute}
	return &requestScope{
		config: config,
		Endpoint: write.Endpoint{
			Policy: &config.Policy, Resource: gadgets, Kind: kind, Namespaced: true,
			Interfaces: write.Interfaces{
				Creater: customresources.Creater, Typer: customresources.Typer{Delegate: crds.Scheme}, Defaulter: crds.Scheme,
				Convertor: gadgetConvertor{},
			},
			Objects: &stored.Objects{
				Resource: store.Resource(gadgets.Group, gadgets.Resource),
				Of:       gadgets.GroupResource(),
				Viewer:   dynamicstorage.NewViewer(plainCodec{}.views),
				Codec:    plainCodec{},
			},
		},
		listKind:            kind.GroupVersion().WithKind("GadgetList"),
		hub:                 kind.GroupVersion(),
		serializer:          serializer,
		standardSerializers: standard,
		lists:               &compressedLists{},
		columns:             func() (printing.TableConvertor, error) { return tableconvertor.New(nil) },
		replaced:            replaced,
	}
}

type gadgetConvertor struct{}

func (gadgetConvertor) Convert(_, _, _ any) error { return errors.New("not needed") }

func (gadgetConvertor) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in, nil
}

func (gadgetConvertor) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	switch label {
	case "metadata.name", "metadata.namespace", "spec.color":
		return label, value, nil
	}
	return "", "", fmt.Errorf("field label not supported: %s", label)
}

// put stores a gadget with a color in its spec and its labels, and returns its revision.
func (r *reading) put(key, color string) int64 {
	r.t.Helper()
	namespace, name, _ := strings.Cut(key, "/")
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Gadget", "spec": map[string]any{"color": color},
	}}
	u.SetNamespace(namespace)
	u.SetName(name)
	u.SetUID("uid")
	u.SetLabels(map[string]string{"color": color})
	value, _, err := objectjson.MarshalObject(u.Object)
	if err != nil {
		r.t.Fatal(err)
	}
	return r.putRaw(key, string(value))
}

func (r *reading) putRaw(key, value string) int64 {
	r.t.Helper()
	response, err := r.client.Put(r.t.Context(), r.keys+key, value)
	if err != nil {
		r.t.Fatal(err)
	}
	return response.Header.Revision
}

func (r *reading) remove(key string) int64 {
	r.t.Helper()
	response, err := r.client.Delete(r.t.Context(), r.keys+key)
	if err != nil {
		r.t.Fatal(err)
	}
	return response.Header.Revision
}

// compact compacts etcd at a revision, and lets the server know.
func (r *reading) compact(revision int64) {
	r.t.Helper()
	_, err := r.client.Compact(r.t.Context(), revision)
	if err = errors.Join(err, r.scope.config.Store.UpdateCompactedRevision(r.t.Context())); err != nil {
		r.t.Fatal(err)
	}
}

// answer is the response to a request.
type answer struct {
	code   int
	header http.Header
	body   []byte
}

// get requests a path below the group and version. headers are pairs of names and values.
func (r *reading) get(path string, headers ...string) answer {
	r.t.Helper()
	response, err := http.DefaultClient.Do(r.request(r.t.Context(), path, headers...))
	if err != nil {
		r.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return answer{code: response.StatusCode, header: response.Header, body: body}
}

func (r *reading) request(ctx context.Context, path string, headers ...string) *http.Request {
	r.t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	for n := 0; n < len(headers); n += 2 {
		req.Header.Set(headers[n], headers[n+1])
	}
	return req
}

func (a answer) decode(t *testing.T, into any) {
	t.Helper()
	if err := json.Unmarshal(a.body, into); err != nil {
		t.Fatalf("%v: %s", err, a.body)
	}
}

// unzipped checks that the response is compressed, and returns the decompressed body.
func (a answer) unzipped(t *testing.T) []byte {
	t.Helper()
	if a.header.Get("Content-Encoding") != "gzip" || a.header.Get("Vary") != "Accept-Encoding" {
		t.Fatalf("header %v", a.header)
	}
	reader, err := gzip.NewReader(bytes.NewReader(a.body))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// status checks that the response is a failure, and returns its Status.
func (a answer) status(t *testing.T, code int) *metav1.Status {
	t.Helper()
	if a.code != code {
		t.Fatalf("code %d, want %d: %s", a.code, code, a.body)
	}
	var status metav1.Status
	a.decode(t, &status)
	if status.Kind != "Status" || int(status.Code) != code {
		t.Fatalf("not the status of a failure: %s", a.body)
	}
	return &status
}

// list checks that the response is a list, and returns it with the names of its items.
func (a answer) list(t *testing.T) (*unstructured.UnstructuredList, string) {
	t.Helper()
	if a.code != http.StatusOK {
		t.Fatalf("code %d: %s", a.code, a.body)
	}
	list := &unstructured.UnstructuredList{}
	a.decode(t, list)
	var names []string
	for _, item := range list.Items {
		names = append(names, item.GetName())
	}
	return list, strings.Join(names, " ")
}

// watching is an open watch; the test reads its events one by one.
type watching struct {
	t        testing.TB
	response *http.Response
	decoder  *json.Decoder
	cancel   context.CancelFunc
}

func (r *reading) watch(path string, headers ...string) *watching {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	response, err := http.DefaultClient.Do(r.request(ctx, path, headers...))
	if err != nil {
		cancel()
		r.t.Fatal(err)
	}
	w := &watching{t: r.t, response: response, decoder: json.NewDecoder(response.Body), cancel: sync.OnceFunc(func() {
		cancel()
		response.Body.Close()
	})}
	r.t.Cleanup(w.cancel)
	if response.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(response.Body)
		r.t.Fatalf("code %d: %s", response.StatusCode, body)
	}
	return w
}

// event is one frame of a watch.
type event struct {
	Type   string
	Object *unstructured.Unstructured
}

// String returns type, name, color and revision of the object.
func (e event) String() string {
	color, _, _ := unstructured.NestedString(e.Object.Object, "spec", "color")
	return strings.Join([]string{e.Type, e.Object.GetName(), color, e.Object.GetResourceVersion()}, " ")
}

// next returns the next event; false means that the stream has ended.
func (w *watching) next() (event, bool) {
	w.t.Helper()
	var frame struct {
		Type   string
		Object map[string]any
	}
	if err := w.decoder.Decode(&frame); err != nil {
		if !errors.Is(err, io.EOF) {
			w.t.Fatal(err)
		}
		return event{}, false
	}
	return event{Type: frame.Type, Object: &unstructured.Unstructured{Object: frame.Object}}, true
}

// expect checks the next events, each as its String.
func (w *watching) expect(events ...string) {
	w.t.Helper()
	for _, want := range events {
		got, ok := w.next()
		if !ok {
			w.t.Fatalf("the watch has ended; want %s", want)
		}
		if got.String() != want {
			w.t.Fatalf("got %s, want %s", got, want)
		}
	}
}

func (w *watching) expectEnd() {
	w.t.Helper()
	if got, ok := w.next(); ok {
		w.t.Fatalf("got %s, want the end", got)
	}
}
