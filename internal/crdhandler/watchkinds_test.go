package crdhandler

import (
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	aggregatorscheme "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/scheme"

	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/crdhandler/objectmeta"
)

// kindWatch is a watch of all objects of a kind by client-go.
type kindWatch struct {
	*resource.Definition
	mediaType string
	watch.Interface
}

// next checks the type of the next event.
func (w *kindWatch) next(t *testing.T, want watch.EventType) runtime.Object {
	t.Helper()
	event := <-w.ResultChan() // a watch that ends sends the zero event
	if event.Type != want {
		t.Errorf("%s in %s: the event is %q %v, want %s", w.GroupVersionKind(), w.mediaType, event.Type, event.Object, want)
	}
	return event.Object
}

// clientScheme returns a scheme with the types that clients have for built-in kinds and CRDs.
func clientScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	types := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		scheme.AddToScheme, aggregatorscheme.AddToScheme, apiextensionsv1.AddToScheme,
	} {
		if err := add(types); err != nil {
			t.Fatal(err)
		}
	}
	return types
}

// watched returns the kinds of the tier all that can be watched, and CRDs.
func watched() (rows []*resource.Definition) {
	for _, d := range builtin.All() {
		if slices.Contains(d.VerbList(), "watch") {
			rows = append(rows, d)
		}
	}
	return append(rows, &resource.Definition{
		GroupVersion: apiextensionsv1.SchemeGroupVersion, Kind: "CustomResourceDefinition",
		Plural: "customresourcedefinitions", Object: &apiextensionsv1.CustomResourceDefinition{},
		Folder: "apiextensions.k8s.io/customresourcedefinitions",
	})
}

// startKindWatch watches all objects of a kind, with a bookmark after the initial ones.
func startKindWatch(t *testing.T, url, mediaType string, types *runtime.Scheme, d *resource.Definition) *kindWatch {
	t.Helper()
	gv := d.GroupVersion
	client, err := rest.RESTClientFor(&rest.Config{Host: url, QPS: -1, APIPath: "/apis", ContentConfig: rest.ContentConfig{
		GroupVersion: &gv, NegotiatedSerializer: serializer.NewCodecFactory(types).WithoutConversion(),
		ContentType: mediaType, AcceptContentTypes: mediaType,
	}})
	if err != nil {
		t.Fatal(err)
	}
	path := "/apis/" + gv.String() + "/" + d.Plural
	if gv.Group == "" {
		path = "/api/" + gv.String() + "/" + d.Plural
	}
	sends := true
	stream, err := client.Get().AbsPath(path).SpecificallyVersionedParams(&metav1.ListOptions{
		Watch: true, SendInitialEvents: &sends, AllowWatchBookmarks: true,
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	}, scheme.ParameterCodec, metav1.Unversioned).Watch(t.Context())
	if err != nil {
		t.Fatalf("%s in %s: %v", d.GroupVersionKind(), mediaType, err)
	}
	t.Cleanup(stream.Stop)
	return &kindWatch{d, mediaType, stream}
}

// TestWatchOfEveryKind checks the frames that are not copied from views: a bookmark, and the ERROR about an object that
// cannot be read. client-go decodes them. All kinds have one scheme in the server, as in the tier all.
func TestWatchOfEveryKind(t *testing.T) {
	t.Parallel()
	prefix := etcd.Prefix(t)
	server := httptest.NewServer(withRequestInfo(
		newHandler(t, etcd.Client, prefix, http.NotFoundHandler(), builtin.All()...)))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	types, folders := clientScheme(t), map[string]bool{}
	var watches []*kindWatch
	for _, d := range watched() {
		for _, mediaType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
			watches = append(watches, startKindWatch(t, server.URL, mediaType, types, d))
		}
		folders[d.StorageFolder()] = true
	}
	for _, w := range watches {
		obj := w.next(t, watch.Bookmark)
		if reflect.TypeOf(obj) != reflect.TypeOf(w.Object) ||
			objectmeta.Accessor(obj).GetAnnotations()[metav1.InitialEventsAnnotationKey] != "true" {
			t.Errorf("%s in %s: the bookmark has %#v", w.GroupVersionKind(), w.mediaType, obj)
		}
	}
	for folder := range folders {
		if _, err := etcd.Client.Put(t.Context(), prefix+"/"+folder+"/ns/corrupt", "{"); err != nil {
			t.Fatal(err)
		}
	}
	for _, w := range watches {
		status, ok := w.next(t, watch.Error).(*metav1.Status)
		if !ok || status.Code != http.StatusInternalServerError {
			t.Errorf("%s in %s: the error is %#v", w.GroupVersionKind(), w.mediaType, status)
		}
	}
}
