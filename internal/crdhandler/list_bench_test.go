package crdhandler

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/endpoints/request"
)

// gadgetPart is one of the eight parts of a gadget of 2.3 KB, gadgetManaged its entry in managed fields.
const (
	gadgetPart = `{"image":"registry.example.com/team/part-%[1]d:1.%[2]d","name":"part-%[1]d","port":808%[1]d,` +
		`"protocol":"TCP"}`
	gadgetManaged = `"k:{\"name\":\"part-%d\"}":{".":{},"f:image":{},"f:name":{},"f:port":{}}`
)

// gadgetOfSize returns the n-th of many objects that differ as real ones do.
func gadgetOfSize(n int, color string) string {
	var parts, fields []string
	for p := range 8 {
		parts = append(parts, fmt.Sprintf(gadgetPart, p, n%50))
		fields = append(fields, fmt.Sprintf(gadgetManaged, p))
	}
	return fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Gadget",`+
		`"metadata":{"creationTimestamp":"2026-01-01T00:%02d:%02dZ","generation":1,`+
		`"labels":{"app.kubernetes.io/name":"gadget","app.kubernetes.io/part-of":"bench","color":"%s"},`+
		`"managedFields":[{"apiVersion":"example.com/v1",`+
		`"fieldsType":"FieldsV1","fieldsV1":{"f:spec":{".":{},"f:maxReplicas":{},"f:parts":{".":{},%s},"f:paused":{},`+
		`"f:replicas":{}}},"manager":"client",`+
		`"operation":"Update","time":"2026-01-01T00:00:00Z"}],"name":"g%05d","namespace":"ns",`+
		`"uid":"%08x-%04x-4000-8000-%012x"},"spec":{"color":"%s",`+
		`"maxReplicas":10000,"parts":[%s],"paused":false,"replicas":%d,"strategy":{"maxSurge":1,"type":"Rolling"}}}`+
		"\n",
		n/600%60, n/10%60, color, strings.Join(fields, ","), n, uint32(n)*2654435761, n*40503%65536, n*1000003, color,
		strings.Join(parts, ","), n%9973)
}

// BenchmarkLists lists 10,000 objects of 2.3 KB: in one response, in part, and in other formats.
func BenchmarkLists(b *testing.B) {
	r := newReading(b)
	const objects = 10_000
	put := func(n int) {
		color := "blue"
		if n%100 == 0 {
			color = "red"
		}
		r.putRaw(fmt.Sprintf("ns/g%05d", n), gadgetOfSize(n, color))
	}
	for n := range objects {
		put(n)
	}
	forget := func(int) { r.scope.lists = &compressedLists{} }
	const meta = ";v=v1;g=meta.k8s.io"
	for _, bc := range []struct {
		name, query, encoding, accept string
		before                        func(int)
	}{
		{"plain", "?resourceVersion=0", "", "", nil},
		{"gzip", "?resourceVersion=0", "gzip", "", nil},
		{"gzip, never before", "?resourceVersion=0", "gzip", "", forget},
		{"gzip, after a change", "", "gzip", "", func(i int) { put(i * 7919 % objects) }},
		{"gzip, page", "?limit=500", "gzip", "", nil},
		{"gzip, label", "?labelSelector=color%3Dred&resourceVersion=0", "gzip", "", nil},
		{"gzip, label, never before", "?labelSelector=color%3Dred&resourceVersion=0", "gzip", "", forget},
		{"pretty", "?resourceVersion=0&pretty=1", "", "", nil},
		{"table", "?resourceVersion=0", "", "application/json;as=Table" + meta, nil},
		{"metadata", "?resourceVersion=0", "", "application/json;as=PartialObjectMetadataList" + meta, nil},
		{"yaml", "?resourceVersion=0&limit=1000", "", "application/yaml", nil},
	} {
		b.Run(bc.name, func(b *testing.B) {
			req := httptest.NewRequest(http.MethodGet, "/"+bc.query, nil)
			req.Header.Set("Accept", bc.accept)
			req.Header.Set("Accept-Encoding", bc.encoding)
			info := &request.RequestInfo{IsResourceRequest: true, Verb: "list", Namespace: "ns", Resource: "gadgets"}
			req = req.WithContext(request.WithRequestInfo(req.Context(), info))
			r.scope.list(&answers{header: http.Header{}}, req, false) // loads the resource and makes the views
			b.ReportAllocs()
			turn, sent := 0, 0
			for b.Loop() {
				if turn++; bc.before != nil {
					b.StopTimer()
					bc.before(turn)
					b.StartTimer()
				}
				w := &counted{answers: answers{header: http.Header{}}}
				r.scope.list(w, req, false)
				sent = w.size
			}
			b.ReportMetric(float64(sent), "sent-B")
		})
	}
}

// counted is a ResponseWriter that counts the bytes of the body.
type counted struct {
	answers
	size int
}

func (c *counted) Write(p []byte) (int, error) {
	c.size += len(p)
	return len(p), nil
}
