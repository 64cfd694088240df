package server

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/crd-server/crd-server/internal/access/authentication"
	"github.com/crd-server/crd-server/internal/server/certs"
	"github.com/crd-server/crd-server/internal/server/filters"
)

// BenchmarkChain measures all filters and the routing of one request.
func BenchmarkChain(b *testing.B) {
	admin, authority := clientOf(b, certs.Issuer{Dir: newDataDir(b), Now: time.Now}, "admin", "system:masters")
	o, err := NewOptions().Validate()
	if err != nil {
		b.Fatal(err)
	}
	files, err := configureAccess(b.Context(), o)
	if err != nil {
		b.Fatal(err)
	}
	authenticator, err := authentication.New(b.Context(), authenticationConfig(o, caProvider(b, authority)))
	if err != nil {
		b.Fatal(err)
	}
	synced := make(chan struct{})
	close(synced)
	drain := filters.NewDrain()
	nothing := http.NotFoundHandler()
	answered := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	resources := &resourceServer{synced: synced, resourceHandlers: &resourceHandlers{
		api: nothing, groups: nothing, resources: answered, openAPIV2: nothing, openAPIV3: nothing,
		serves: func(*request.RequestInfo) bool { return false },
	}}
	router, _, err := newRouter(&routes{
		resourceHandlers: resources.resourceHandlers, options: o,
		health: newHealth(health{stopping: drain.Stopping()}, false),
	})
	if err != nil {
		b.Fatal(err)
	}
	chain := newChain(o, &access{configured: files, authenticator: authenticator}, resources, drain, nil)
	handler := chain.Handler(router)
	req := requestWith(admin.Cert)
	req.URL.Path = "/apis/example.com/v1/namespaces/default/crontabs/one"
	for _, header := range []string{"Accept", "Accept-Encoding", "User-Agent"} {
		req.Header.Set(header, "anything")
	}
	b.ReportAllocs()
	for b.Loop() {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, req)
		if w.Code != http.StatusOK {
			b.Fatal(w.Code, w.Body)
		}
	}
}
