package watch

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor"
	metainternal "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/crd-server/crd-server/internal/crdhandler/printing"
	"github.com/crd-server/crd-server/internal/crdhandler/selection"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// gadget returns the stored bytes of a gadget with a padding of size bytes.
func gadget(name string, size int) []byte {
	return fmt.Appendf(nil,
		`{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"%s","namespace":"ns","uid":"uid"},`+
			`"spec":{"padding":"%s"}}`,
		name, strings.Repeat("x", size))
}

// viewer serves objects as they are stored.
var viewer = dynamicstorage.NewViewer(func(_ context.Context, entries []*dynamicstorage.Entry) ([]*dynamicstorage.View,
	error) {
	views := make([]*dynamicstorage.View, len(entries))
	for n, entry := range entries {
		const head = `"metadata":{`
		views[n] = &dynamicstorage.View{Bytes: entry.Value, At: strings.Index(string(entry.Value), head) + len(head)}
	}
	return views, nil
})

// newSession returns a session for the gadgets of a resource, in the format that req asks for. It has no stream.
func newSession(t testing.TB, objects *dynamicstorage.Resource, req *http.Request,
	opts *metainternal.ListOptions) *session {
	t.Helper()
	gvk := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Gadget"}
	endpoint := &printing.Endpoint{
		Kind:       gvk,
		Serializer: serializer.NewCodecFactory(runtime.NewScheme()),
		Table:      func() (printing.TableConvertor, error) { return tableconvertor.New(nil) },
	}
	mediaType, err := endpoint.Negotiate(req)
	if err != nil {
		t.Fatal(err)
	}
	config := Config{
		Resource:  gvk.GroupVersion().WithResource("gadgets"),
		Objects:   objects,
		Selection: selection.New(selection.Request{Namespaced: true, Options: opts}, selection.Index{Viewer: viewer}),
		Options:   opts,
		Endpoint:  endpoint,
		MediaType: mediaType,
		View:      viewer.View,
		Views:     viewer.Views,
		Decode: func(view *dynamicstorage.View, revision int64) (runtime.Object, error) {
			obj := &unstructured.Unstructured{}
			err := json.Unmarshal(view.Bytes, &obj.Object)
			obj.SetResourceVersion(fmt.Sprint(revision))
			return obj, err
		},
		NewObject: func() (runtime.Object, error) {
			obj := &unstructured.Unstructured{}
			obj.SetGroupVersionKind(gvk)
			return obj, nil
		},
		APIError: func(err error) error { return err },
	}
	encoder, err := newEncoder(req, &config)
	if err != nil {
		t.Fatal(err)
	}
	start, err := newStart(opts)
	if err != nil {
		t.Fatal(err)
	}
	s := &session{Config: config, start: start, encoder: encoder}
	s.prepareMetrics(t.Context())
	return s
}
