package crdhandler

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.opentelemetry.io/otel/trace/noop"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"

	"github.com/crd-server/crd-server/internal/controllers"
	"github.com/crd-server/crd-server/internal/conversion"
	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/discovery"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/etcdtest"
)

// newLink returns the handler of a server whose keys begin with prefix, and whose delegate is next.
func newLink(t *testing.T, client *clientv3.Client, prefix string, next http.Handler) http.Handler {
	t.Helper()
	store, err := dynamicstorage.New(dynamicstorage.Options{Client: client, Prefix: prefix, Header: widgetHeader})
	if err != nil {
		t.Fatal(err)
	}
	informer := crds.NewInformer(store)
	table := crds.NewTable(informer)
	converters, err := conversion.NewFactory(webhook.NewDefaultServiceResolver(),
		webhook.NewDefaultAuthenticationInfoResolverWrapper(nil, nil, &rest.Config{}, noop.NewTracerProvider()))
	if err != nil {
		t.Fatal(err)
	}
	published := discovery.New(table, discovery.Options{Delegate: next})
	var lifecycle *controllers.Lifecycle
	handler, err := New(Config{
		Store: store, Table: table, Converters: converters, Delegate: next,
		GroupDiscovery: published.Group(), VersionDiscovery: published.Version(),
		ReconcileDefinition:     func(ctx context.Context, name string) error { return lifecycle.Reconcile(ctx, name) },
		DeleteCollectionWorkers: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	lifecycle = controllers.NewLifecycle(controllers.Config{Store: store, Table: table,
		DeleteInstances: handler.DeleteInstances})
	etcdtest.Run(t, store.Run)
	etcdtest.Run(t, func(ctx context.Context) error { informer.RunWithContext(ctx); return nil })
	etcdtest.Run(t, func(ctx context.Context) error { lifecycle.Run(ctx); return nil })
	<-table.Synced()
	return handler
}

// withRequestInfo adds the RequestInfo and the user to the request, as the server does.
func withRequestInfo(next http.Handler) http.Handler {
	resolver := &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"),
		GrouplessAPIPrefixes: sets.NewString("api")}
	return filters.WithWarningRecorder(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		info, err := resolver.NewRequestInfo(req)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		ctx := request.WithUser(request.WithRequestInfo(req.Context(), info), &user.DefaultInfo{Name: "somebody"})
		next.ServeHTTP(w, req.WithContext(ctx))
	}))
}

// definitionOf returns a CRD with one version whose objects have a default for spec.from.
func definitionOf(group, plural, version, from string) string {
	return fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"%[2]s.%[1]s"},
"spec":{"group":"%[1]s","scope":"Namespaced","names":{"plural":"%[2]s","kind":"Kind%[2]s"},
"versions":[{"name":"%[3]s","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{
"spec":{"type":"object","default":{},"properties":{"from":{"type":"string","default":"%[4]s"}}}}}}}]}}`, group, plural, version, from)
}

// TestDelegate chains two servers of custom resources and a third handler. It checks that each server answers the
// requests for its own CRDs and passes on all other requests unchanged.
func TestDelegate(t *testing.T) {
	t.Parallel()
	last := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		info, _ := request.RequestInfoFrom(req.Context())
		body, _ := io.ReadAll(req.Body)
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, "%s %s %s", info.Verb, req.URL, body)
	})
	back := newLink(t, etcd.Client, etcd.Prefix(t)+"/back", last)
	front := newLink(t, etcd.Client, etcd.Prefix(t)+"/front", back)
	ask := func(handler http.Handler, method, path, body string) (int, string) {
		req := httptest.NewRequest(method, path, strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		withRequestInfo(handler).ServeHTTP(w, req)
		return w.Code, w.Body.String()
	}
	for _, crd := range []struct {
		server     http.Handler
		definition string
	}{
		{front, definitionOf("front.example.com", "things", "v1", "front")},
		{back, definitionOf("back.example.com", "things", "v1", "back")},
		{front, definitionOf("both.example.com", "things", "v1", "front")},
		{back, definitionOf("both.example.com", "things", "v1", "back")},
		{front, definitionOf("versions.example.com", "things", "v1", "front")},
		{back, definitionOf("versions.example.com", "things", "v2", "back")},
	} {
		if code, body := ask(crd.server, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
			crd.definition); code != http.StatusCreated {
			t.Fatal(code, body)
		}
	}

	object := func(groupVersion string) string {
		return fmt.Sprintf(`{"apiVersion":%q,"kind":"Kindthings","metadata":{"name":"one"}}`, groupVersion)
	}
	tests := []struct {
		method, path, body string
		code               int
		has                string
	}{
		{"POST", "/apis/front.example.com/v1/namespaces/ns/things", object("front.example.com/v1"), 201,
			`"from":"front"`},
		{"POST", "/apis/back.example.com/v1/namespaces/ns/things", object("back.example.com/v1"), 201, `"from":"back"`},
		{"POST", "/apis/both.example.com/v1/namespaces/ns/things", object("both.example.com/v1"), 201,
			`"from":"front"`},
		{"POST", "/apis/versions.example.com/v1/namespaces/ns/things", object("versions.example.com/v1"), 201,
			`"from":"front"`},
		{"POST", "/apis/versions.example.com/v2/namespaces/ns/things", object("versions.example.com/v2"), 201,
			`"from":"back"`},
		{"GET", "/apis/back.example.com/v1/things", "", 200, `"name":"one"`},
		{"GET", "/apis/back.example.com/v1/namespaces/ns/things/two", "", 404,
			`things.back.example.com \"two\" not found`},
		{"GET", "/apis/back.example.com", "", 200, `"kind":"APIGroup"`},
		{"GET", "/apis/back.example.com/v1", "", 200, `"kind":"Kindthings"`},
		{"GET", "/apis/versions.example.com/v2", "", 200, `"kind":"Kindthings"`},
		{"GET", "/apis/none.example.com/v1/things?limit=1", "", 418, "list /apis/none.example.com/v1/things?limit=1"},
		{"POST", "/apis/none.example.com/v1/things", "anything", 418,
			"create /apis/none.example.com/v1/things anything"},
		{"GET", "/apis/none.example.com", "", 418, "get /apis/none.example.com"},
		{"GET", "/apis/none.example.com/v1", "", 418, "get /apis/none.example.com/v1"},
		{"GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.front.example.com", "", 200, "front"},
		{"GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.back.example.com", "", 404,
			"not found"},
		{"DELETE", "/apis/back.example.com/v1/namespaces/ns/things/one", "", 200, `"Success"`},
	}
	for _, test := range tests {
		t.Run(test.method+" "+test.path, func(t *testing.T) {
			if code, body := ask(front, test.method, test.path, test.body); code != test.code ||
				!strings.Contains(body, test.has) {
				t.Errorf("got %d, %s\nwant %d, %s", code, body, test.code, test.has)
			}
		})
	}
}
