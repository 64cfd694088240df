package crdhandler

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.opentelemetry.io/otel/trace/noop"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"

	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/builtin/resource"
	crdlifecycle "github.com/crd-server/crd-server/internal/controllers/crds"
	"github.com/crd-server/crd-server/internal/conversion"
	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/discovery"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/etcdtest"
)

// newHandler returns the crdHandler of a whole server of CRDs, with its controllers: it serves the CRDs that a test
// creates, and built-in resources. Its keys begin with prefix, and its delegate is next. Requests need withRequestInfo.
func newHandler(
	t *testing.T, client *clientv3.Client, prefix string, next http.Handler, rows ...*resource.Definition,
) http.Handler {
	t.Helper()
	builtins, err := builtin.NewSet(rows)
	if err != nil {
		t.Fatal(err)
	}
	store, err := dynamicstorage.New(dynamicstorage.Options{Client: client, Prefix: prefix, Header: widgetHeader})
	if err != nil {
		t.Fatal(err)
	}
	table := crds.NewTable(store.Resource(crds.GroupName, crds.Plural))
	converters, err := conversion.NewFactory(webhook.NewDefaultServiceResolver(),
		webhook.NewDefaultAuthenticationInfoResolverWrapper(nil, nil, &rest.Config{}, noop.NewTracerProvider()))
	if err != nil {
		t.Fatal(err)
	}
	published := discovery.New(table, discovery.Options{Delegate: next})
	reconciler := crdlifecycle.NewReconciler(crdlifecycle.Config{Store: store, Table: table})
	handler, err := New(Config{
		Store: store, Table: table, Converters: converters, Delegate: next, Builtin: builtins,
		GroupDiscovery: published.Group(), VersionDiscovery: published.Version(),
		ReconcileDefinition:     reconciler.Reconcile,
		DeleteCollectionWorkers: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	lifecycle := crdlifecycle.NewLifecycle(reconciler, handler.DeleteInstances)
	etcdtest.Run(t, store.Run)
	etcdtest.Run(t, func(ctx context.Context) error { table.Run(ctx); return nil })
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
	return fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
"metadata":{"name":"%[2]s.%[1]s"},
"spec":{"group":"%[1]s","scope":"Namespaced","names":{"plural":"%[2]s","kind":"Kind%[2]s"},
"versions":[{"name":"%[3]s","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{
"spec":{"type":"object","default":{},"properties":{"from":{"type":"string",
"default":"%[4]s"}}}}}}}]}}`, group, plural, version, from)
}
