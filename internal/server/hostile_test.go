//go:build !library && !race

package server

// The library alone does not bound its work and its defaults, so these tests need the fast paths.

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// hostilePath is the path of the objects of hostile requests.
const hostilePath = "/apis/hostile.example.com/v1/namespaces/default/things"

// hostileServer returns a handler with a CRD and two objects for hostile requests. One of the objects was created by
// server-side apply.
func hostileServer(t *testing.T) http.Handler {
	t.Helper()
	handler, _ := assembled(t)
	served(t, handler, "POST", definitionsPath,
		`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
"metadata":{"name":"things.hostile.example.com"},
"spec":{"group":"hostile.example.com","scope":"Namespaced","names":{"plural":"things","kind":"Thing"},
"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{
"texts":{"type":"array","items":{"type":"string"}},
"values":{"type":"object","additionalProperties":{"type":"integer","minimum":1}},
"named":{"type":"object","additionalProperties":{"type":"object","required":["a"],"properties":{"a":{"type":"string",
"enum":["`+strings.Join(numbered("value", 5000), `","`)+`"]}}}},
"set":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"object","x-kubernetes-map-type":"atomic",
"properties":{"a":{"type":"integer"}}}},
"plain":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}},
"map":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["a"],"items":{"type":"object",
"required":["a"],"properties":{"a":{"type":"integer"}}}},
"defaulted":{"type":"array","items":{"type":"object","properties":{"a":{"type":"string",
"default":"`+strings.Repeat("x", 1000)+`"}}}},
"nothing":{"type":"string","nullable":true},
"text":{"type":"string","pattern":"(a?){900}b"},
"mail":{"type":"string","format":"email"},
"free":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}}]}}`)
	served(t, handler, "POST", hostilePath, hostileObject("thing", `"free":{"a":[1]}`))
	applied := hostileRequest{"", "PATCH", "application/apply-patch+yaml", hostileObject("pruned", `"free":{"x":1}`)}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, applied.request(t.Context(), ""))
	if w.Code != http.StatusCreated {
		t.Fatal(w.Code, w.Body)
	}
	return handler
}

// hostileObject returns an object for hostile requests.
func hostileObject(name, fields string) string {
	return `{"apiVersion":"hostile.example.com/v1","kind":"Thing","metadata":{"name":"` + name + `"},` + fields + `}`
}

// hostileRequest is a small request that could be expensive.
type hostileRequest struct{ name, method, mediaType, body string }

// request returns the HTTP request. A POST creates an object. Any other request is for the object that its body names,
// and for "thing" if its body names none.
func (h hostileRequest) request(ctx context.Context, query string) *http.Request {
	path := hostilePath
	if h.method != "POST" {
		name := "thing"
		for _, other := range []string{"new", "pruned", "long"} {
			if strings.HasPrefix(h.body, strings.TrimSuffix(hostileObject(other, ""), ",}")) ||
				strings.Contains(h.body, `"path":"/metadata/name","value":"`+other+`"`) {
				name = other
			}
		}
		path += "/" + name
	}
	req := httptest.NewRequest(h.method, path+"?fieldManager=hostile&"+query,
		strings.NewReader(h.body)).WithContext(asOwnRequest(ctx))
	req.Header.Set("Content-Type", h.mediaType)
	return req
}

// many is the number of members or items in large requests.
const many = 50000

// list returns n items. They are numbered if the format has a verb.
func list(format string, n int) string {
	items := make([]string, n)
	for i := range items {
		if items[i] = format; strings.Contains(format, "%") {
			items[i] = fmt.Sprintf(format, i)
		}
	}
	return strings.Join(items, ",")
}

// unordered returns n numbered items in random order.
func unordered(format string, n int) string {
	items := make([]string, n)
	for i, number := range rand.New(rand.NewPCG(1, 2)).Perm(n) {
		items[i] = fmt.Sprintf(format, number)
	}
	return strings.Join(items, ",")
}

func hostileRequests() []hostileRequest {
	return []hostileRequest{
		{"items of another type", "POST", "application/json", hostileObject("thing", `"texts":[`+list("1", many)+`]`)},
		{"items of another type in an update", "PUT", "application/json",
			hostileObject("thing", `"texts":[`+list("1", many)+`]`)},
		{"items of another type in a patch", "PATCH", "application/merge-patch+json", `{"texts":[` + list("1", many) + `]}`},
		{"items of another type applied", "PATCH", "application/apply-patch+yaml",
			hostileObject("thing", `"texts":[`+list("1", many)+`]`)},
		{"values that are too small", "POST", "application/json",
			hostileObject("thing", `"values":{`+list(`"v%d":0`, 4*many)+`}`)},
		{"values that are not in an enumeration", "POST", "application/json",
			hostileObject("thing", `"named":{`+list(`"v%d":{"a":"x"}`, many/4)+`}`)},
		{"objects without what is required", "POST", "application/json",
			hostileObject("thing", `"named":{`+list(`"v%d":{}`, many/2)+`}`)},
		{"a large set", "PATCH", "application/merge-patch+json",
			hostileObject("thing", `"set":[`+list(`{"a":%d}`, many/2)+`]`)},
		{"a large set of the same", "POST", "application/json",
			hostileObject("thing", `"set":[`+list(`{"a":1}`, many/2)+`]`)},
		{"a large map of the same", "POST", "application/json",
			hostileObject("thing", `"map":[`+list(`{"a":1}`, many/2)+`]`)},
		{"a large map", "POST", "application/json", hostileObject("thing", `"map":[`+list(`{"a":%d}`, 4*many)+`]`)},
		{"a large map in no order, applied", "PATCH", "application/apply-patch+yaml",
			hostileObject("new", `"map":[`+unordered(`{"a":%d}`, 2*many)+`]`)},
		{"a large set in no order, applied", "PATCH", "application/apply-patch+yaml",
			hostileObject("new", `"plain":[`+unordered(`"%d"`, 2*many)+`]`)},
		{"a large map, applied", "PATCH", "application/apply-patch+yaml",
			hostileObject("thing", `"map":[`+list(`{"a":%d}`, many/4)+`]`)},
		{"unknown fields", "POST", "application/json", hostileObject("thing", list(`"f%d":1`, many/2))},
		{"duplicate fields", "POST", "application/json", hostileObject("thing", list(`"f":1`, many/2))},
		{"deep lists", "POST", "application/json",
			hostileObject("thing", `"free":{"a":`+strings.Repeat("[", many)+strings.Repeat("]", many)+`}`)},
		{"deep objects", "PATCH", "application/apply-patch+yaml",
			hostileObject("thing", `"free":`+strings.Repeat(`{"a":`, 5000)+"1"+strings.Repeat("}", 5000))},
		{"references to references", "POST", "application/yaml",
			"a: &a [x,x,x,x,x,x,x,x,x,x]\n" + references('b', 'i') +
				"apiVersion: hostile.example.com/v1\nkind: Thing\nmetadata: {name: thing2}\n"},
		{"references to references, applied", "PATCH", "application/apply-patch+yaml",
			"a: &a [x,x,x,x,x,x,x,x,x,x]\n" + references('b', 'i') +
				"apiVersion: hostile.example.com/v1\nkind: Thing\nmetadata: {name: thing}\n"},
		{"members before a large list", "PATCH", "application/json-patch+json",
			`[{"op":"add","path":"/free/l","value":[` + list("1", many/5) + `]},` +
				list(`{"op":"add","path":"/free/l/0","value":1}`, 9_999) + `]`},
		{"empty items with a large default", "POST", "application/json",
			hostileObject("thing", `"defaulted":[`+list("{}", 49_000)+`]`)},
		{"empty items with a large default in a patch", "PATCH", "application/merge-patch+json",
			`{"defaulted":[` + list("{}", 49_000) + `]}`},
		{"empty items with a large default, patched", "PATCH", "application/json-patch+json",
			`[{"op":"add","path":"/defaulted","value":[` + list("{}", 49_000) + `]}]`},
		{"empty items with a large default, applied", "PATCH", "application/apply-patch+yaml",
			hostileObject("thing", `"defaulted":[`+list("{}", many/2)+`]`)},
		{"copies of copies", "PATCH", "application/json-patch+json",
			`[` + list(`{"op":"copy","from":"/free","path":"/free/c%d"}`, 40) + `]`},
		{"labels", "POST", "application/json",
			strings.Replace(hostileObject("thing", `"free":{}`), `"name"`, `"labels":{`+list(`"-%d":"-"`, many/2)+`},"name"`,
				1)},
		{"managed fields of numbers", "PUT", "application/json",
			strings.Replace(hostileObject("thing", `"free":{"a":[2]}`), `"name"`,
				`"managedFields":[{"manager":"m","operation":"Update","apiVersion":"hostile.example.com/v1",`+
					`"fieldsType":"FieldsV1","fieldsV1":{"f:free":{`+
					list(`"v:-%d":{}`, 3*many)+`}}}],"name"`, 1)},
		{"owners", "POST", "application/json",
			strings.Replace(hostileObject("thing", `"free":{}`), `"name"`,
				`"ownerReferences":[`+list(`{"apiVersion":"v1","kind":"K","name":"n","uid":"u%d"}`, many/8)+`],"name"`, 1)},
		{"finalizers", "POST", "application/json",
			strings.Replace(hostileObject("thing", `"free":{}`), `"name"`, `"finalizers":[`+list(`"f%d"`, many/4)+`],"name"`,
				1)},
	}
}

// TestHostileRequestsAreBounded checks that each request keeps to its budget: 64 MiB, and 32 times its body.
func TestHostileRequestsAreBounded(t *testing.T) {
	handler := hostileServer(t)
	for _, test := range slices.Concat(hostileRequests(), hostileWork()) {
		t.Run(test.name, func(t *testing.T) { // one by one, because the heap is that of the process
			budget := uint64(64<<20 + 32*len(test.body))
			req, w := test.request(t.Context(), "dryRun=All&fieldValidation=Strict"), httptest.NewRecorder()
			live := peakHeap(budget, func() { handler.ServeHTTP(w, req) })
			if live > budget {
				t.Errorf("a body of %d KiB took %d MiB of %d", len(test.body)>>10, live>>20, budget>>20)
			}
			tooLarge := strings.Contains(w.Body.String(), `"etcdserver: request is too large"`)
			if tooLarge != strings.Contains(test.name, "large default") {
				t.Errorf("%d %.300s", w.Code, w.Body)
			}
			if w.Code >= http.StatusInternalServerError && !tooLarge &&
				!strings.Contains(w.Body.String(), "failed to create typed patch object") {
				t.Errorf("%d %.300s", w.Code, w.Body)
			}
			t.Logf("%d bytes: %d with %d bytes, %d of %d MiB: %.150s", len(test.body), w.Code, w.Body.Len(), live>>20,
				budget>>20,
				w.Body)
		})
	}
}

// TestHostileRequestsEndWithTheirClients checks that the work for a request is bounded after its client has left, at
// whichever step the server is then. Bytes that are allocated stand for work, so the speed of the machine does not
// matter: a step that goes on to its end allocates as much on a slow one.
func TestHostileRequestsEndWithTheirClients(t *testing.T) {
	handler := hostileServer(t)
	long := hostileRequest{"", "POST", "application/json", hostileObject("long", `"free":{"l":[`+list("1", 300_000)+`]}`)}
	created := httptest.NewRecorder()
	handler.ServeHTTP(created, long.request(t.Context(), ""))
	if created.Code != http.StatusCreated {
		t.Fatal(created.Code, created.Body)
	}
	const step = 128 << 20
	for _, test := range slices.Concat(hostileRequests(), hostileWork(), hostileMatches()) {
		t.Run(test.name, func(t *testing.T) { // one by one, because the bytes are those of the process
			decoding := allocatedAfter(t, handler, test, func(req *http.Request, leave func()) {
				req.Body = leavingBody{req.Body, leave}
			})
			later := allocatedAfter(t, handler, test, func(req *http.Request, leave func()) {
				time.AfterFunc(200*time.Millisecond, leave)
			})
			t.Logf("%d MiB while the body was decoded, %d MiB later", decoding>>20, later>>20)
			if decoding > step+64*uint64(len(test.body)) { // decoding goes on to its end
				t.Errorf("%d MiB were allocated after the client had left with its body", decoding>>20)
			}
			if later > step+decoding {
				t.Errorf("%d MiB were allocated after the client had left", later>>20)
			}
		})
	}
}

// allocatedAfter returns how many bytes are allocated for a request after its client has left, 0 if the response comes
// before. depart makes the client leave.
func allocatedAfter(t *testing.T, handler http.Handler, h hostileRequest,
	depart func(req *http.Request, leave func())) uint64 {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var mu sync.Mutex
	var before uint64 // guarded by mu
	leave := func() {
		mu.Lock()
		defer mu.Unlock()
		if before == 0 {
			before = allocated()
			cancel()
		}
	}
	req := h.request(ctx, "dryRun=All&fieldValidation=Strict")
	depart(req, leave)
	handler.ServeHTTP(httptest.NewRecorder(), req)
	leave()
	return allocated() - before
}

// leavingBody is a body whose client leaves when it is read.
type leavingBody struct {
	io.ReadCloser
	leave func()
}

func (b leavingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.leave()
	}
	return n, err
}

// numbered returns n names.
func numbered(name string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%s%d", name, i)
	}
	return names
}

// references returns YAML lists. Each of them has ten references to the one before.
func references(from, to rune) string {
	var text strings.Builder
	for letter := from; letter <= to; letter++ {
		fmt.Fprintf(&text, "%c: &%c [%s]\n", letter, letter,
			strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c,", letter-1), 10), ","))
	}
	return text.String()
}
