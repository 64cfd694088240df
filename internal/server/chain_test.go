package server

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/endpoints/request"
)

// unlabelled are the labels where nothing is served that has any.
func unlabelled() *metricLabels {
	return &metricLabels{serves: func(*request.RequestInfo) bool { return false }}
}

// BenchmarkChain measures what all filters and the routing cost one request.
func BenchmarkChain(b *testing.B) {
	admin, authority := clientOf(b, pki{dir: &DataDir{path: b.TempDir()}, now: time.Now}, "admin", "system:masters")
	o := NewOptions()
	guards, err := newGuards(b.Context(), o)
	if err != nil {
		b.Fatal(err)
	}
	if err := guards.complete(b.Context(), o, believing(b, authority), nil); err != nil {
		b.Fatal(err)
	}
	synced := make(chan struct{})
	close(synced)
	c := &chain{
		serving: &o.Serving, requests: &o.Requests, drain: newDrain(), synced: synced, guards: guards,
		inFlight: newInFlight(&o.Requests, nil, nil), labels: unlabelled(),
	}
	answered := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	nothing := http.NotFoundHandler()
	router, _ := newRouter(&routes{
		api: nothing, groups: nothing, resources: answered, openAPIV2: nothing, openAPIV3: nothing,
		health: newHealth(c.drain.stopping, false),
	})
	handler := c.around(router)
	req := requestWith(admin.cert)
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
