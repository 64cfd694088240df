package server

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/endpoints/request"

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
	access, err := newAccess(b.Context(), o)
	if err != nil {
		b.Fatal(err)
	}
	if err := access.complete(b.Context(), o, caProvider(b, authority), nil); err != nil {
		b.Fatal(err)
	}
	synced := make(chan struct{})
	close(synced)
	drain := filters.NewDrain()
	chain := newChain(o, access, &parts{synced: synced, serves: func(*request.RequestInfo) bool { return false }}, drain,
		nil)
	answered := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	nothing := http.NotFoundHandler()
	router, _, err := newRouter(&routes{
		api: nothing, groups: nothing, resources: answered, openAPIV2: nothing, openAPIV3: nothing,
		health: newHealth(healthConfig{stopping: drain.Stopping()}), extensions: &Extensions{},
	})
	if err != nil {
		b.Fatal(err)
	}
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
