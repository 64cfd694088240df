package crdhandler

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/apiserver/pkg/endpoints/request"
)

// answers is a ResponseWriter that discards the body.
type answers struct{ header http.Header }

func (a *answers) Header() http.Header         { return a.header }
func (a *answers) Write(p []byte) (int, error) { return len(p), nil }
func (a *answers) WriteHeader(int)             {}

func BenchmarkReads(b *testing.B) {
	r := newReading(b)
	const objects = 10_000
	for n := range objects {
		color := "blue"
		if n%100 == 0 {
			color = "red"
		}
		r.put(fmt.Sprintf("ns/g%05d", n), color)
	}
	for _, bc := range []struct{ name, query, object, encoding string }{
		{"get, any", "?resourceVersion=0", "g00001", ""},
		{"get, consistent", "", "g00001", ""},
		{"list", "?resourceVersion=0", "", ""},
		{"list, gzip", "?resourceVersion=0", "", "gzip"},
		{"list, page", "?limit=500", "", ""},
		{"list, label", "?labelSelector=color%3Dred", "", ""},
		{"list, field", "?fieldSelector=spec.color%3Dred", "", ""},
	} {
		b.Run(bc.name, func(b *testing.B) {
			req := httptest.NewRequest(http.MethodGet, "/"+bc.query, nil)
			req.Header.Set("Accept", "application/json")
			req.Header.Set("Accept-Encoding", bc.encoding)
			info := &request.RequestInfo{IsResourceRequest: true, Verb: "list", Namespace: "ns", Name: bc.object,
				Resource: "gadgets"}
			serve := r.scope.verb("list", false)
			if bc.object != "" {
				serve, info.Verb = r.scope.get, "get"
			}
			req = req.WithContext(request.WithRequestInfo(req.Context(), info))
			serve(&answers{header: http.Header{}}, req) // loads the resource and makes the views
			b.ReportAllocs()
			for b.Loop() {
				serve(&answers{header: http.Header{}}, req)
			}
		})
	}
}
