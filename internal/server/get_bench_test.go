package server

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// BenchmarkGet measures a GET from the outermost filter to the cache and back, without the network.
func BenchmarkGet(b *testing.B) {
	handler, certificates := assembled(b)
	const path = "/apis/example.com/v1/namespaces/default/things/"
	served(b, handler, http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd("things"))
	for n := range 1000 {
		served(b, handler, http.MethodPost, path[:len(path)-1], fmt.Sprintf(
			`{"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t%d", "annotations": {"is": %q}}}`, n,
			strings.Repeat("long ", 400)))
	}
	for _, row := range []struct{ name, query string }{{"any", "?resourceVersion=0"}, {"consistent", ""}} {
		request := func() *http.Request {
			req := httptest.NewRequest(http.MethodGet, "https://localhost"+path+"t77"+row.query, nil)
			req.Proto, req.ProtoMajor, req.ProtoMinor = "HTTP/2.0", 2, 0
			req.TLS.PeerCertificates = certificates
			for header, value := range map[string]string{"Accept": "application/json", "Accept-Encoding": "gzip",
				"User-Agent": "bench"} {
				req.Header.Set(header, value)
			}
			return req
		}
		b.Run(row.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetParallelism(8)
			b.RunParallel(func(pb *testing.PB) {
				req := request()
				ctx, cancel := context.WithCancel(b.Context())
				defer cancel()
				code := make(chan int)
				for pb.Next() {
					go func() { // as an HTTP/2 server does, so that stacks have to grow
						w := discarding{header: http.Header{}}
						handler.ServeHTTP(&w, req.WithContext(ctx))
						code <- w.code
					}()
					if code := <-code; code != http.StatusOK {
						b.Fatal(code)
					}
				}
			})
		})
	}
}
