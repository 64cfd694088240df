package collector

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"go.opentelemetry.io/otel/trace/noop"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"

	crdlifecycle "github.com/crd-server/crd-server/internal/controllers/crds"
	"github.com/crd-server/crd-server/internal/conversion"
	"github.com/crd-server/crd-server/internal/crdhandler"
	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/discovery"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/etcdtest"
)

// etcd is shared by the tests of the package.
var etcd *etcdtest.Etcd

func TestMain(m *testing.M) {
	utilruntime.ErrorHandlers = nil // the default ones sleep
	os.Exit(etcdtest.Main(m, &etcd))
}

// server is a crdHandler with its controllers.
type server struct {
	testing.TB
	store   *dynamicstorage.Store
	table   *crds.Table
	kinds   *Kinds
	handler http.Handler
	prefix  string
	fences  atomic.Int64
	// undefined has the names of deleted CRDs.
	undefined chan string
}

func startServer(t testing.TB) *server {
	t.Helper()
	s := &server{TB: t, prefix: etcd.Prefix(t), undefined: make(chan string, 1)}
	var err error
	s.store, err = dynamicstorage.New(dynamicstorage.Options{Client: etcd.Client, Prefix: s.prefix,
		Header: crds.ReadHeader})
	if err != nil {
		t.Fatal(err)
	}
	s.table = crds.NewTable(s.store.Resource(crds.GroupName, crds.Plural))
	s.table.OnChange(func(old, record *crds.Record) {
		if record == nil {
			s.undefined <- old.Name
		}
	})
	s.kinds = NewKinds(s.table, nil)
	converters, err := conversion.NewFactory(webhook.NewDefaultServiceResolver(),
		webhook.NewDefaultAuthenticationInfoResolverWrapper(nil, nil, &rest.Config{}, noop.NewTracerProvider()))
	if err != nil {
		t.Fatal(err)
	}
	published := discovery.New(s.table, discovery.Options{Delegate: http.NotFoundHandler()})
	reconciler := crdlifecycle.NewReconciler(crdlifecycle.Config{Store: s.store, Table: s.table})
	handler, err := crdhandler.New(crdhandler.Config{
		Store: s.store, Table: s.table, Converters: converters, Delegate: http.NotFoundHandler(),
		GroupDiscovery: published.Group(), VersionDiscovery: published.Version(),
		ReconcileDefinition:     reconciler.Reconcile,
		DeleteCollectionWorkers: 1, GarbageCollection: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.handler = withRequestInfo(handler)
	lifecycle := crdlifecycle.NewLifecycle(reconciler, handler.DeleteInstances)
	etcdtest.Run(t, s.store.Run)
	etcdtest.Run(t, func(ctx context.Context) error { s.table.Run(ctx); return nil })
	etcdtest.Run(t, func(ctx context.Context) error { lifecycle.Run(ctx); return nil })
	<-s.table.Synced()
	s.define("widgets", "Widget", "Namespaced")
	s.define("realms", "Realm", "Cluster")
	return s
}

// withRequestInfo adds what the server's filters add to a request.
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

// RoundTrip implements http.RoundTripper for clients of the server.
func (s *server) RoundTrip(req *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	served := req.Clone(req.Context())
	served.RequestURI = req.URL.RequestURI()
	if served.Body == nil {
		served.Body = http.NoBody
	}
	s.handler.ServeHTTP(w, served)
	return w.Result(), nil
}

// send sends a request. It returns the code and the body.
func (s *server) send(method, path, contentType, body string) (int, []byte) {
	req := httptest.NewRequestWithContext(s.Context(), method, path, strings.NewReader(body))
	req.Header.Set("Content-Type", contentType)
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, req)
	return w.Code, w.Body.Bytes()
}

func (s *server) must(method, path, contentType, body string) []byte {
	s.Helper()
	code, answer := s.send(method, path, contentType, body)
	if code >= 300 {
		s.Fatalf("%s %s %s: %d %s", method, path, body, code, answer)
	}
	return answer
}

func (s *server) define(plural, kind, scope string) {
	s.Helper()
	s.must(http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "application/json", fmt.Sprintf(
		`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"%[1]s.example.com"},
"spec":{"group":"example.com","scope":"%[3]s","names":{"plural":"%[1]s","kind":"%[2]s"},"versions":[{"name":"v1",
"served":true,
"storage":true,"schema":{"openAPIV3Schema":{"type":"object",
"x-kubernetes-preserve-unknown-fields":true}}}]}}`, plural, kind, scope))
}

// path returns the path of an object that tests call "[namespace/]name"; realms have no namespace.
func path(id string) string {
	if namespace, name, namespaced := strings.Cut(id, "/"); namespaced {
		return "/apis/example.com/v1/namespaces/" + namespace + "/widgets/" + name
	}
	return "/apis/example.com/v1/realms/" + id
}

// create creates an object, and returns its UID.
func (s *server) create(id string, meta metav1.ObjectMeta) types.UID {
	s.Helper()
	kind, at := "Widget", strings.LastIndexByte(path(id), '/')
	if !strings.Contains(id, "/") {
		kind = "Realm"
	}
	meta.Name = path(id)[at+1:]
	body, err := json.Marshal(metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: "example.com/v1", Kind: kind}, ObjectMeta: meta})
	if err != nil {
		s.Fatal(err)
	}
	var created metav1.PartialObjectMetadata
	if err := json.Unmarshal(s.must(http.MethodPost, path(id)[:at], "application/json", string(body)),
		&created); err != nil {
		s.Fatal(err)
	}
	return created.UID
}

// delete deletes an object with a propagation policy.
func (s *server) delete(id string, policy metav1.DeletionPropagation) {
	s.Helper()
	s.must(http.MethodDelete, path(id), "application/json",
		fmt.Sprintf(`{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":%q}`, policy))
}

func (s *server) merge(id, patch string) {
	s.Helper()
	s.must(http.MethodPatch, path(id), "application/merge-patch+json", patch)
}

// get returns an object; nil if there is none.
func (s *server) get(id string) *metav1.PartialObjectMetadata {
	s.Helper()
	code, answer := s.send(http.MethodGet, path(id), "", "")
	if code == http.StatusNotFound {
		return nil
	}
	var got metav1.PartialObjectMetadata
	if err := json.Unmarshal(answer, &got); err != nil || code != http.StatusOK {
		s.Fatalf("%s: %d %s", id, code, answer)
	}
	return &got
}

func (s *server) collector() *Collector {
	s.Helper()
	c := New(Config{Store: s.store, Kinds: s.kinds,
		Client: &rest.Config{Host: "https://test", Transport: s, QPS: -1}})
	return c
}

// stepped is a run without workers: the test processes what is due.
type stepped struct {
	*run
	*server
	fenced chan string
	scan   chan struct{} // closed at the end of the first scan
	stop   func()
}

// step starts a collector. stop, which the end of the test calls too, stops it.
func (s *server) step() *stepped {
	ctx, cancel := context.WithCancel(context.Background())
	r := &stepped{run: s.collector().newRun(), server: s, fenced: make(chan string, 1), scan: make(chan struct{})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.store.Observe(ctx, r)
	}()
	r.stop = func() {
		cancel()
		<-done
		r.objects.ShutDown()
		r.references.ShutDown()
	}
	s.Cleanup(r.stop)
	<-r.scan
	return r
}

// Scanned implements dynamicstorage.Observer.
func (r *stepped) Scanned(revision int64) {
	r.run.Scanned(revision)
	close(r.scan)
}

// Observe implements dynamicstorage.Observer.
func (r *stepped) Observe(o dynamicstorage.Observation) {
	r.run.Observe(o)
	if fence, ok := strings.CutPrefix(o.Key, "fence/"); ok && fence == fmt.Sprint(r.fences.Load()) {
		r.fenced <- fence
	}
}

// fence waits until the collector has observed everything up to now.
func (r *stepped) fence() {
	r.Helper()
	fence := fmt.Sprint(r.fences.Add(1))
	if _, err := etcd.Client.Put(r.Context(), r.prefix+"/fence/"+fence, ""); err != nil {
		r.Fatal(err)
	}
	<-r.fenced
}

// settle processes what is due until nothing is. It returns the number of objects that were due.
func (r *stepped) settle() (processed int) {
	r.Helper()
	for {
		r.fence()
		if r.objects.Len() == 0 && r.references.Len() == 0 {
			return processed
		}
		for r.references.Len() > 0 {
			ref, _ := r.references.Get()
			if err := r.verify(r.Context(), ref); err != nil {
				r.Fatal(err)
			}
			r.references.Done(ref)
		}
		for r.objects.Len() > 0 {
			key, _ := r.objects.Get()
			processed++
			if err := r.process(r.Context(), key); err == errRetry {
				r.fence()
				r.objects.Add(key)
			} else if err != nil {
				r.Fatal(err)
			}
			r.objects.Done(key)
		}
	}
}
