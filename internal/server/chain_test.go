package server

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
)

// BenchmarkChain measures what all filters and the routing cost one request.
func BenchmarkChain(b *testing.B) {
	dir := &DataDir{path: b.TempDir()}
	keeper := pki{dir: dir, now: time.Now}
	authority, err := keeper.authority()
	if err != nil {
		b.Fatal(err)
	}
	admin, err := keeper.leaf("admin", &x509.Certificate{
		Subject:     pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, authority)
	if err != nil {
		b.Fatal(err)
	}
	ca, err := dynamiccertificates.NewDynamicCAContentFromFile("test", authority.certFile)
	if err != nil {
		b.Fatal(err)
	}
	authorizer, err := newAuthorizer()
	if err != nil {
		b.Fatal(err)
	}
	o := NewOptions()
	synced := make(chan struct{})
	close(synced)
	c := &chain{
		serving: &o.Serving, requests: &o.Requests, drain: newDrain(), synced: synced, authorizer: authorizer,
		authenticator: newAuthenticator(&o.Authentication, ca),
	}
	answered := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	nothing := http.NotFoundHandler()
	handler := c.around(newRouter(&routes{
		api: nothing, groups: nothing, resources: answered, openAPIV2: nothing, openAPIV3: nothing,
		health: newHealth(c.drain.stopping, false),
	}))
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
