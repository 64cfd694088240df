package server

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/klog/v2"
)

// The fuzz targets of this file send their input through the whole server with all filters. No request may panic or
// get a response with 500.

// hostile sends requests to a whole server, which compares what it serves of an object with what it has stored.
type hostile struct{ handler http.Handler }

func newHostile(f *testing.F) hostile {
	handler, _ := assembled(f, func(o *Options) { o.Etcd.CheckViews = true })
	served(f, handler, "POST", definitionsPath, fuzzDefinition)
	return hostile{handler}
}

// call is a request.
type call struct {
	method, path, query string
	body                []byte
	header              map[string]string
	// lines are further lines of the header.
	lines http.Header
	// anonymous leaves out the credential; all other requests are allowed to do everything.
	anonymous bool
	// leave is the time after which the client ends the request, because a watch has no end; 0 means never.
	leave time.Duration
}

// send sends a request to the server. A response with 500 is an error, unless upstream's server responds in the same
// way (expected).
func (h hostile) send(t testing.TB, c call) *httptest.ResponseRecorder {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if c.leave > 0 {
		defer time.AfterFunc(c.leave, cancel).Stop()
	}
	if !c.anonymous {
		ctx = asOwnRequest(ctx)
	}
	ctx = klog.NewContext(ctx, inconsistencies(t))
	c.method = cmp.Or(c.method, http.MethodGet)
	req, err := http.NewRequestWithContext(ctx, c.method, "https://localhost/", bytes.NewReader(c.body))
	if err != nil {
		t.Skip("not a method")
	}
	req.ProtoMajor, req.ProtoMinor = 2, 0
	req.URL.Path, req.URL.RawQuery, req.RemoteAddr = c.path, c.query, "127.0.0.1:1"
	req.RequestURI = req.URL.RequestURI()
	for name, value := range c.header {
		req.Header.Set(name, value)
	}
	maps.Copy(req.Header, c.lines)
	w := httptest.NewRecorder()
	serveOrAbort(t, h.handler, watcher{w}, req)
	if answer := w.Body.String(); w.Code == http.StatusInternalServerError &&
		strings.HasPrefix(answer, "apiVersion: v1\n") && strings.Contains(answer, "message: 'yaml: ") {
		// The YAML library does not read all of JSON: it refuses control characters and keys of more than 1,024
		// characters. Upstream's server fails in the same way, so the request is repeated for a response in JSON.
		header := map[string]string{}
		maps.Copy(header, c.header)
		header["Accept"] = "application/json"
		c.header, c.lines = header, c.lines.Clone()
		c.lines.Del("Accept")
		return h.send(t, c)
	}
	if w.Code == http.StatusInternalServerError && ctx.Err() == nil && !expected(w.Body.String()) {
		t.Errorf("%s %s: %d %.2000s", c.method, req.RequestURI, w.Code, w.Body)
	}
	return w
}

// inconsistencies returns a logger that fails the test for a message about a view that differs from its stored value.
func inconsistencies(t testing.TB) logr.Logger {
	return funcr.New(func(_, message string) {
		if strings.Contains(message, "Cache inconsistent with etcd") {
			t.Error(message)
		}
	}, funcr.Options{})
}

// watcher is a recorder with the methods that handlers of watches need.
type watcher struct{ *httptest.ResponseRecorder }

// CloseNotify implements http.CloseNotifier, by which apiserver's wrappers recognise a connection. Nothing waits for
// it.
func (watcher) CloseNotify() <-chan bool { return nil }

// serveOrAbort serves a request. It reports whether the handler aborted the response, which the HTTP server allows.
func serveOrAbort(t testing.TB, handler http.Handler, w http.ResponseWriter, req *http.Request) (aborted bool) {
	defer func() {
		v := recover()
		if aborted = v == any(http.ErrAbortHandler); v != nil && !aborted {
			t.Fatalf("panic: %v", v)
		}
	}()
	handler.ServeHTTP(w, req)
	return false
}

// expected reports whether upstream's server gives a response with 500 as well.
func expected(answer string) bool {
	for _, part := range known500 {
		if strings.Contains(answer, part) {
			return true
		}
	}
	return false
}

// known500 are parts of responses with 500 that upstream's server gives as well.
var known500 = []string{
	"failed to create typed patch object", // the applied configuration does not match the schema
	// The converter of custom resources does not convert a Scale that is applied.
	"autoscaling/v1, Kind=Scale is unstructured and is not suitable for converting",
	"request to convert CR to an invalid group/version: autoscaling/v1",
}

const (
	fuzzGroup  = "/apis/fuzz.example.com/"
	fuzzThings = fuzzGroup + "v1/namespaces/default/things"
	fuzzThing  = fuzzThings + "/thing"

	// fuzzDefinition uses every feature of schemas.
	fuzzDefinition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"things.fuzz.example.com"},
"spec":{"group":"fuzz.example.com","scope":"Namespaced","names":{"plural":"things","singular":"thing","kind":"Thing","listKind":"ThingList","categories":["all"]},
"versions":[{"name":"v1","served":true,"storage":true,
"subresources":{"status":{},"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas","labelSelectorPath":".status.selector"}},
"selectableFields":[{"jsonPath":".spec.color"}],
"additionalPrinterColumns":[{"name":"Color","type":"string","jsonPath":".spec.color"},{"name":"At","type":"date","jsonPath":".spec.at"},{"name":"Any","type":"string","jsonPath":".spec.list[*].key"}],
"schema":{"openAPIV3Schema":{"type":"object","properties":{
"status":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"replicas":{"type":"integer"},"selector":{"type":"string"}}},
"spec":{"type":"object","properties":{
 "color":{"type":"string","default":"red","enum":["red","green","blue"]},"replicas":{"type":"integer","format":"int32","minimum":0},
 "at":{"type":"string","format":"date-time"},"port":{"x-kubernetes-int-or-string":true},"ratio":{"type":"number","multipleOf":0.5},
 "name":{"type":"string","pattern":"^[a-z]+$","maxLength":20,"nullable":true},
 "list":{"type":"array","maxItems":20,"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["key"],"items":{"type":"object","required":["key"],"properties":{"key":{"type":"string"},"n":{"type":"integer","default":3}}}},
 "set":{"type":"array","maxItems":20,"x-kubernetes-list-type":"set","items":{"type":"string","maxLength":100}},
 "map":{"type":"object","additionalProperties":{"type":"object","properties":{"x":{"type":"integer"}}}},
 "free":{"type":"object","x-kubernetes-preserve-unknown-fields":true},
 "template":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true},
 "either":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"oneOf":[{"required":["a"]},{"required":["b"]}]}},
 "x-kubernetes-validations":[{"rule":"!has(self.replicas) || self.replicas < 100","messageExpression":"'too many'"},{"rule":"!has(self.set) || self.set.all(s, s.size() < 10)"},{"rule":"!has(oldSelf.port) || has(self.port)"}]}}}}},
{"name":"v2","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`

	fuzzObject = `{"apiVersion":"fuzz.example.com/v1","kind":"Thing","metadata":{"name":"thing","labels":{"a":"b"},"annotations":{"c":"d"}},
"spec":{"color":"green","replicas":2,"at":"2020-01-01T00:00:00Z","port":"http","ratio":1.5,"name":"x","list":[{"key":"a"},{"key":"b","n":1}],"set":["p","q"],
"map":{"k":{"x":1}},"free":{"any":[1,null,{}]},"template":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}},"either":{"a":"y"}}}`
)

// bodyTypes are the media types of bodies, with the methods that accept them.
var bodyTypes = []struct{ method, mediaType string }{
	{"POST", "application/json"}, {"POST", "application/yaml"}, {"POST", "application/cbor"},
	{"POST", "application/vnd.kubernetes.protobuf"},
	{"PUT", "application/json"}, {"PUT", "application/yaml"}, {"PUT", "application/cbor"},
	{"PATCH", "application/merge-patch+json"}, {"PATCH", "application/json-patch+json"},
	{"PATCH", "application/apply-patch+yaml"}, {"PATCH", "application/apply-patch+cbor"},
	{"PATCH", "application/strategic-merge-patch+json"},
	{"DELETE", "application/json"}, {"DELETE", "application/vnd.kubernetes.protobuf"}, {"DELETE", "application/cbor"},
}

// addBodies adds each body once for each media type, in its encoding.
func addBodies(f *testing.F, add func(kind byte, body []byte), bodies ...string) {
	f.Helper()
	for kind, is := range bodyTypes {
		for _, text := range bodies {
			body := []byte(text)
			if strings.HasSuffix(is.mediaType, "cbor") {
				var value any
				if err := json.Unmarshal(body, &value); err != nil {
					continue
				}
				encoded, err := direct.Marshal(value)
				if err != nil {
					f.Fatal(err)
				}
				body = append([]byte{0xd9, 0xd9, 0xf7}, encoded...)
			}
			add(byte(kind), body)
		}
	}
}

// FuzzObjectBody writes an object and reads the result in all formats.
func FuzzObjectBody(f *testing.F) {
	h := newHostile(f)
	addBodies(f, func(kind byte, body []byte) {
		f.Add(kind, byte(0), body)
		f.Add(kind, byte(1), body)
		f.Add(kind, byte(2), body)
	},
		fuzzObject, `{}`, `[]`, `null`,
		`{"apiVersion":"fuzz.example.com/v1","kind":"Thing","metadata":{"name":"thing"},"spec":{"color":7,"list":[{}],"port":1.5}}`,
		`[{"op":"add","path":"/spec/list/-","value":{"key":"c"}},{"op":"copy","from":"/spec","path":"/spec/free"},{"op":"test","path":"/kind","value":"Thing"}]`,
		`{"spec":{"color":null,"free":{"a":{"b":[[[]]]}}},"metadata":{"finalizers":["a/b"],"ownerReferences":[{"apiVersion":"v1","kind":"K","name":"n","uid":"u"}],"managedFields":[{"manager":"m","operation":"Update","apiVersion":"fuzz.example.com/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:color":{}}}}]}}`,
		`{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"x","resourceVersion":"1"},"propagationPolicy":"Foreground","ignoreStoreReadErrorWithClusterBreakingPotential":true}`,
		`{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"thing","namespace":"default"},"spec":{"replicas":3}}`)
	parts := []string{"", "/status", "/scale"}
	f.Fuzz(func(t *testing.T, kind, part byte, body []byte) {
		is := bodyTypes[int(kind)%len(bodyTypes)]
		h.send(t, call{method: "POST", path: fuzzThings, body: []byte(fuzzObject),
			header: map[string]string{"Content-Type": "application/json"}})
		path := fuzzThing + parts[int(part)%len(parts)]
		if is.method == "POST" {
			h.remove(t, fuzzThing)
			path = fuzzThings
		}
		query := ""
		if strings.Contains(is.mediaType, "apply") {
			query = "fieldManager=fuzz&force=true"
		}
		for _, fieldValidation := range []string{"Strict", "Warn"} {
			h.send(t, call{method: is.method, path: path, query: query + "&fieldValidation=" + fieldValidation, body: body,
				header: map[string]string{"Content-Type": is.mediaType}})
		}
		h.readAll(t, fuzzThings)
		h.remove(t, fuzzThing)
	})
}

// readAll reads a collection in all formats.
func (h hostile) readAll(t *testing.T, path string) {
	t.Helper()
	for _, accept := range []string{
		"application/json", "application/yaml", "application/cbor", "application/json;as=Table;g=meta.k8s.io;v=v1",
		"application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
	} {
		for _, at := range []string{path, strings.Replace(path, "/v1/", "/v2/", 1)} {
			if w := h.send(t, call{path: at, header: map[string]string{"Accept": accept}}); w.Code >= 400 &&
				w.Code != http.StatusNotFound && w.Code != http.StatusNotAcceptable {
				t.Errorf("%s as %s: %d %s", at, accept, w.Code, w.Body)
			}
		}
	}
}

// remove deletes an object and removes its finalizers.
func (h hostile) remove(t *testing.T, path string) {
	t.Helper()
	h.send(t, call{method: "DELETE", path: path})
	if h.send(t, call{path: path}).Code == http.StatusOK {
		h.send(t, call{method: "PATCH", path: path, body: []byte(`{"metadata":{"finalizers":null}}`),
			header: map[string]string{"Content-Type": "application/merge-patch+json"}})
	}
}

// FuzzDefinitionBody writes a CRD and uses its resource.
func FuzzDefinitionBody(f *testing.F) {
	h := newHostile(f)
	other := strings.ReplaceAll(fuzzDefinition, "things.", "others.")
	other = strings.NewReplacer(`"things"`, `"others"`, `"thing"`, `"other"`, `"Thing"`, `"Other"`, `"ThingList"`,
		`"OtherList"`).Replace(other)
	addBodies(f, func(kind byte, body []byte) { f.Add(kind, body) }, other, `{}`,
		`{"spec":{"conversion":{"strategy":"Webhook"}}}`,
		`{"spec":{"versions":[{"name":"v1","served":true,"storage":true,"schema":{},"selectableFields":[{"jsonPath":".spec.x"}]}]}}`,
		`{"spec":{"preserveUnknownFields":true}}`,
		`[{"op":"remove","path":"/spec/versions/0"},{"op":"add","path":"/spec/versions/0/selectableFields","value":[{"jsonPath":".spec.x"}]}]`)
	f.Fuzz(func(t *testing.T, kind byte, body []byte) {
		is := bodyTypes[int(kind)%len(bodyTypes)]
		path, query := definitionsPath+"/others.fuzz.example.com", ""
		if is.method == "POST" {
			path = definitionsPath
		} else {
			h.send(t, call{method: "POST", path: definitionsPath, body: []byte(other),
				header: map[string]string{"Content-Type": "application/json"}})
		}
		if strings.Contains(is.mediaType, "apply") {
			query = "fieldManager=fuzz&force=true"
		}
		h.send(t, call{method: is.method, path: path, query: query, body: body,
			header: map[string]string{"Content-Type": is.mediaType}})
		h.useDefinitions(t)
	})
}

// useDefinitions reads discovery and OpenAPI, uses all CRDs, and deletes all but the CRD that newHostile has created.
func (h hostile) useDefinitions(t *testing.T) {
	t.Helper()
	for _, path := range []string{"/apis", "/openapi/v2", "/openapi/v3"} {
		h.send(t, call{path: path})
	}
	var list unstructured.UnstructuredList
	if err := list.UnmarshalJSON(h.send(t, call{path: definitionsPath}).Body.Bytes()); err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		if item := &list.Items[i]; item.GetName() != "things.fuzz.example.com" {
			h.useDefinition(t, item)
			h.remove(t, definitionsPath+"/"+item.GetName())
		}
	}
}

func (h hostile) useDefinition(t *testing.T, definition *unstructured.Unstructured) {
	t.Helper()
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	plural, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "plural")
	kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
	scope, _, _ := unstructured.NestedString(definition.Object, "spec", "scope")
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, version := range versions {
		name, _, _ := unstructured.NestedString(version.(map[string]any), "name")
		h.send(t, call{path: "/openapi/v3/apis/" + group + "/" + name})
		path := "/apis/" + group + "/" + name + "/"
		if scope == "Namespaced" {
			path += "namespaces/default/"
		}
		path += plural
		object := strings.NewReplacer("fuzz.example.com/v1", group+"/"+name, "Thing", kind).Replace(fuzzObject)
		h.send(t, call{method: "POST", path: path, body: []byte(object),
			header: map[string]string{"Content-Type": "application/json"}})
		h.send(t, call{method: "PATCH", path: path + "/thing", query: "fieldManager=fuzz&force=true", body: []byte(object),
			header: map[string]string{"Content-Type": "application/apply-patch+yaml"}})
		h.send(t, call{path: path, query: "fieldSelector=" + url.QueryEscape("spec.color=green")})
		h.send(t, call{path: path, header: map[string]string{"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}})
		h.remove(t, path+"/thing")
	}
}

// FuzzSchema creates a CRD with a schema and writes an object of it.
func FuzzSchema(f *testing.F) {
	h := newHostile(f)
	for _, schema := range []string{
		`{"type":"object","x-kubernetes-preserve-unknown-fields":true}`,
		`{"type":"object","properties":{"spec":{"type":"string","pattern":"(a+)+$"}}}`,
		`{"type":"object","properties":{"spec":{"type":"string","pattern":"((a{1,1000}){1,1000}){1,1000}"}}}`,
		`{"type":"object","properties":{"spec":{"type":"array","items":{"type":"array","items":{"type":"array","items":{"type":"string"}}},"x-kubernetes-validations":[{"rule":"self.all(a, self.all(b, self.all(c, a == b && b == c)))"}]}}}`,
		`{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"default":{"x":1}}}}}}`,
		`{"properties":{"spec":{"default":{"x":1},"not":{"anyOf":[{"minimum":1}]}}}}`,
		`{"type":"object","properties":{"metadata":{"type":"object","properties":{"name":{"type":"string","pattern":"^a"}}},"spec":{"type":"array","uniqueItems":true,"items":{"$ref":"#/x"}}}}`,
		`{"type":"object","properties":{"spec":{"x-kubernetes-int-or-string":true,"anyOf":[{"type":"integer"},{"type":"string"}],"format":"quantity"}}}`,
		`{"type":"object","properties":{"spec":{"type":"object","additionalProperties":{"x-kubernetes-embedded-resource":true,"type":"object"}}}}`,
		`{"type":"object","properties":{"spec":{"type":"object","x-kubernetes-map-type":"atomic","x-kubernetes-validations":[{"rule":"self.x.matches('(a+)+') && optional.of(1).hasValue()","messageExpression":"self.y","fieldPath":".x","reason":"FieldValueForbidden"}],"properties":{"x":{"type":"string"},"y":{"type":"integer"}}}}}`,
	} {
		for _, spec := range []string{`{}`, `"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"`, `[1,1]`,
			`{"a":{"apiVersion":"v1"},"x":"y"}`, `1`} {
			f.Add(schema, spec, ".spec")
			f.Add(schema, spec, ".spec.x")
		}
	}
	f.Fuzz(func(t *testing.T, schema, spec, field string) {
		quoted, err := json.Marshal(field)
		if err != nil {
			t.Skip("not a string")
		}
		definition := fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"others.fuzz.example.com"},
"spec":{"group":"fuzz.example.com","scope":"Namespaced","names":{"plural":"others","singular":"other","kind":"Other","listKind":"OtherList"},
"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":%s},"selectableFields":[{"jsonPath":%s}],"additionalPrinterColumns":[{"name":"A","type":"string","jsonPath":%s}]}]}}`,
			schema, quoted, quoted)
		asJSON := map[string]string{"Content-Type": "application/json"}
		if h.send(t, call{method: "POST", path: definitionsPath, body: []byte(definition),
			header: asJSON}).Code == http.StatusCreated {
			object := fmt.Sprintf(`{"apiVersion":"fuzz.example.com/v1","kind":"Other","metadata":{"name":"thing"},"spec":%s}`,
				spec)
			path := fuzzGroup + "v1/namespaces/default/others"
			h.send(t, call{method: "POST", path: path, body: []byte(object), header: asJSON})
			h.send(t, call{method: "PATCH", path: path + "/thing", body: []byte(`{"spec":{"x":"z"}}`),
				header: map[string]string{"Content-Type": "application/merge-patch+json"}})
		}
		h.useDefinitions(t)
	})
}

// FuzzPath sends a request for a path, with a query and a media type.
func FuzzPath(f *testing.F) {
	h := newHostile(f)
	served(f, h.handler, "POST", fuzzThings, fuzzObject)
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT"} {
		for _, path := range []string{"/", "/api", "/apis", "/apis//", fuzzThings, fuzzThing, fuzzThing + "/scale",
			fuzzThing + "/status", fuzzGroup + "v2/things", fuzzGroup + "v1/watch/things", "/openapi/v2",
			"/openapi/v3/apis/fuzz.example.com/v1", "/metrics", "/healthz", "/readyz", "/healthz/etcd", "/version",
			definitionsPath, definitionsPath + "/things.fuzz.example.com/status", "/apis/a/b/c/d/e/f/g"} {
			f.Add(method, path, "", "")
		}
	}
	for _, query := range []string{
		"limit=1", "limit=-1&continue=x", "labelSelector=a%3Db,c%20in(d,e),!f",
		"fieldSelector=metadata.name%3Dthing,spec.color!%3Dred", "resourceVersion=1&resourceVersionMatch=Exact",
		"resourceVersion=0&resourceVersionMatch=NotOlderThan", "watch=1&timeoutSeconds=0",
		"watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan",
		"pretty=1", "timeout=1ms", "timeout=x", "dryRun=All&fieldManager=x&fieldValidation=Strict", "hash=1",
		"verbose&exclude=etcd", "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MTAsInN0YXJ0IjoiYVx1MDAwMCJ9&limit=1",
		"gracePeriodSeconds=0&propagationPolicy=Orphan&orphanDependents=true", "%zz", "a;b",
	} {
		f.Add("GET", fuzzThings, query, "application/json")
		f.Add("DELETE", fuzzThings, query+"&dryRun=All", "application/json")
	}
	for _, accept := range []string{
		"*/*", "application/*;q=0.5, text/html;q=x", "application/json;as=Table;v=v1;g=meta.k8s.io",
		"application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json",
		"application/vnd.kubernetes.protobuf", "application/cbor-seq", "application/json;stream=watch",
		"application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", "a/b;c=d;;", ";",
		"application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
	} {
		for _, path := range []string{fuzzThings, fuzzThing, "/apis", "/openapi/v2", "/version", fuzzThing + "/scale"} {
			f.Add("GET", path, "", accept)
			f.Add("GET", path, "watch=1", accept)
		}
	}
	f.Fuzz(func(t *testing.T, method, path, query, accept string) {
		if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "/debug/") {
			t.Skip("not a path of the API")
		}
		h.send(t, call{
			method: method, path: path, query: query, leave: watchFor,
			header: map[string]string{"Accept": accept, "Content-Type": "application/json"},
		})
	})
}

// watchFor is the time after which the client of a fuzz target ends a watch.
const watchFor = 30 * time.Millisecond

// FuzzSelectors lists and watches with selectors. A list must contain the objects that the library selects.
func FuzzSelectors(f *testing.F) {
	h := newHostile(f)
	served(f, h.handler, "POST", fuzzThings, fuzzObject)
	for _, selector := range []string{
		"", "a=b", "a==b,c", "a in (b,c),d notin (e)", "!a", "a!=b", "x/y=", "a>1", "a<x", " a = b ", "a in ()", "a=b,",
		"metadata.name=thing", "metadata.name!=thing,metadata.namespace=default",
		"spec.color=green", "spec.color in (green)", `spec.color=\,\=\\`, "spec.other=1", "metadata.uid=1", "=", ",,", "(",
		strings.Repeat("a,", 1000), strings.Repeat("a", 300) + "=b", "\x00", "é=ü",
	} {
		f.Add(selector, "")
		f.Add("", selector)
		f.Add("a=b", selector)
	}
	thing := labels.Set{"a": "b"}
	f.Fuzz(func(t *testing.T, byLabel, byField string) {
		t.Parallel()
		query := url.Values{"labelSelector": {byLabel}, "fieldSelector": {byField}}.Encode()
		w := h.send(t, call{path: fuzzThings, query: query})
		if selector, err := labels.Parse(byLabel); byField == "" && w.Code < http.StatusInternalServerError {
			if (err == nil) != (w.Code == http.StatusOK) {
				t.Errorf("%q: %d, %v", byLabel, w.Code, err)
			} else if listed := strings.Contains(w.Body.String(), `"name":"thing"`); err == nil &&
				listed != selector.Matches(thing) {
				t.Errorf("%q: %s", byLabel, w.Body)
			}
		}
		h.send(t, call{path: fuzzThings, query: query + "&watch=1", leave: watchFor})
	})
}
