package server

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	"k8s.io/apimachinery/pkg/util/json"
)

// The fuzz targets of this file send their input through the whole server with all filters. No request may panic or
// get a response with 500.

const (
	fuzzGroup  = "/apis/fuzz.example.com/"
	fuzzThings = fuzzGroup + "v1/namespaces/default/things"
	fuzzThing  = fuzzThings + "/thing"

	// fuzzDefinition uses every feature of schemas.
	fuzzDefinition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
"metadata":{"name":"things.fuzz.example.com"},
"spec":{"group":"fuzz.example.com","scope":"Namespaced","names":{"plural":"things","singular":"thing","kind":"Thing",
"listKind":"ThingList","categories":["all"]},
"versions":[{"name":"v1","served":true,"storage":true,
"subresources":{"status":{},"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas",
"labelSelectorPath":".status.selector"}},
"selectableFields":[{"jsonPath":".spec.color"}],
"additionalPrinterColumns":[{"name":"Color","type":"string","jsonPath":".spec.color"},{"name":"At","type":"date",
"jsonPath":".spec.at"},{"name":"Any","type":"string","jsonPath":".spec.list[*].key"}],
"schema":{"openAPIV3Schema":{"type":"object","properties":{
"status":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"replicas":{"type":"integer"},
"selector":{"type":"string"}}},
"spec":{"type":"object","properties":{
 "color":{"type":"string","default":"red","enum":["red","green","blue"]},"replicas":{"type":"integer","format":"int32",
 "minimum":0},
 "at":{"type":"string","format":"date-time"},"port":{"x-kubernetes-int-or-string":true},"ratio":{"type":"number",
 "multipleOf":0.5},
 "name":{"type":"string","pattern":"^[a-z]+$","maxLength":20,"nullable":true},
 "list":{"type":"array","maxItems":20,"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["key"],
 "items":{"type":"object","required":["key"],"properties":{"key":{"type":"string"},"n":{"type":"integer",
 "default":3}}}},
 "set":{"type":"array","maxItems":20,"x-kubernetes-list-type":"set","items":{"type":"string","maxLength":100}},
 "map":{"type":"object","additionalProperties":{"type":"object","properties":{"x":{"type":"integer"}}}},
 "free":{"type":"object","x-kubernetes-preserve-unknown-fields":true},
 "template":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true},
 "either":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"oneOf":[{"required":["a"]},
 {"required":["b"]}]}},
 "x-kubernetes-validations":[{"rule":"!has(self.replicas) || self.replicas < 100","messageExpression":"'too many'"},
 {"rule":"!has(self.set) || self.set.all(s, s.size() < 10)"},{"rule":"!has(oldSelf.port) || has(self.port)"}]}}}}},
{"name":"v2","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object",
"x-kubernetes-preserve-unknown-fields":true}}}]}}`

	fuzzObject = `{"apiVersion":"fuzz.example.com/v1","kind":"Thing","metadata":{"name":"thing","labels":{"a":"b"},
"annotations":{"c":"d"}},
"spec":{"color":"green","replicas":2,"at":"2020-01-01T00:00:00Z","port":"http","ratio":1.5,"name":"x",
"list":[{"key":"a"},{"key":"b","n":1}],"set":["p","q"],
"map":{"k":{"x":1}},"free":{"any":[1,null,{}]},"template":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}},
"either":{"a":"y"}}}`
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
		`{"apiVersion":"fuzz.example.com/v1","kind":"Thing","metadata":{"name":"thing"},"spec":{"color":7,"list":[{}],`+
			`"port":1.5}}`,
		`[{"op":"add","path":"/spec/list/-","value":{"key":"c"}},{"op":"copy","from":"/spec","path":"/spec/free"},`+
			`{"op":"test","path":"/kind","value":"Thing"}]`,
		`{"spec":{"color":null,"free":{"a":{"b":[[[]]]}}},"metadata":{"finalizers":["a/b"],`+
			`"ownerReferences":[{"apiVersion":"v1","kind":"K","name":"n","uid":"u"}],"managedFields":[{"manager":"m",`+
			`"operation":"Update","apiVersion":"fuzz.example.com/v1","fieldsType":"FieldsV1",`+
			`"fieldsV1":{"f:spec":{"f:color":{}}}}]}}`,
		`{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"x","resourceVersion":"1"},`+
			`"propagationPolicy":"Foreground","ignoreStoreReadErrorWithClusterBreakingPotential":true}`,
		`{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"thing","namespace":"default"},`+
			`"spec":{"replicas":3}}`)
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
