package server

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestHostileRequestsAreBounded sends requests that are small, and could cost much.
func TestHostileRequestsAreBounded(t *testing.T) {
	handler, _ := assembled(t)
	served(t, handler, "POST", definitionsPath, `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"things.hostile.example.com"},
"spec":{"group":"hostile.example.com","scope":"Namespaced","names":{"plural":"things","kind":"Thing"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{
"texts":{"type":"array","items":{"type":"string"}},
"values":{"type":"object","additionalProperties":{"type":"integer","minimum":1}},
"named":{"type":"object","additionalProperties":{"type":"object","required":["a"],"properties":{"a":{"type":"string","enum":["`+strings.Join(numbered("value", 5000), `","`)+`"]}}}},
"set":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"object","x-kubernetes-map-type":"atomic","properties":{"a":{"type":"integer"}}}},
"map":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["a"],"items":{"type":"object","required":["a"],"properties":{"a":{"type":"integer"}}}},
"defaulted":{"type":"array","items":{"type":"object","properties":{"a":{"type":"string","default":"`+strings.Repeat("x", 1000)+`"}}}},
"free":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}}]}}`)
	const path = "/apis/hostile.example.com/v1/namespaces/default/things"
	object := func(fields string) string {
		return `{"apiVersion":"hostile.example.com/v1","kind":"Thing","metadata":{"name":"thing"},` + fields + `}`
	}
	served(t, handler, "POST", path, object(`"free":{"a":[1]}`))
	const many = 50000
	list := func(format string, n int) string {
		items := make([]string, n)
		for i := range items {
			if items[i] = format; strings.Contains(format, "%") {
				items[i] = fmt.Sprintf(format, i)
			}
		}
		return strings.Join(items, ",")
	}
	for _, test := range []struct{ name, method, mediaType, body string }{
		{"items of another type", "POST", "application/json", object(`"texts":[` + list("1", many) + `]`)},
		{"items of another type in an update", "PUT", "application/json", object(`"texts":[` + list("1", many) + `]`)},
		{"items of another type in a patch", "PATCH", "application/merge-patch+json", `{"texts":[` + list("1", many) + `]}`},
		{"items of another type applied", "PATCH", "application/apply-patch+yaml", object(`"texts":[` + list("1", many) + `]`)},
		{"values that are too small", "POST", "application/json", object(`"values":{` + list(`"v%d":0`, 4*many) + `}`)},
		{"values that are not in an enumeration", "POST", "application/json", object(`"named":{` + list(`"v%d":{"a":"x"}`, many/4) + `}`)},
		{"objects without what is required", "POST", "application/json", object(`"named":{` + list(`"v%d":{}`, many/2) + `}`)},
		{"a large set", "PATCH", "application/merge-patch+json", object(`"set":[` + list(`{"a":%d}`, many/2) + `]`)},
		{"a large set of the same", "POST", "application/json", object(`"set":[` + list(`{"a":1}`, many/2) + `]`)},
		{"a large map of the same", "POST", "application/json", object(`"map":[` + list(`{"a":1}`, many/2) + `]`)},
		{"a large map", "POST", "application/json", object(`"map":[` + list(`{"a":%d}`, 4*many) + `]`)},
		{"a large map, applied", "PATCH", "application/apply-patch+yaml", object(`"map":[` + list(`{"a":%d}`, many/4) + `]`)},
		{"unknown fields", "POST", "application/json", object(list(`"f%d":1`, many/2))},
		{"duplicate fields", "POST", "application/json", object(list(`"f":1`, many/2))},
		{"deep lists", "POST", "application/json", object(`"free":{"a":` + strings.Repeat("[", many) + strings.Repeat("]", many) + `}`)},
		{"deep objects", "PATCH", "application/apply-patch+yaml", object(`"free":` + strings.Repeat(`{"a":`, 5000) + "1" + strings.Repeat("}", 5000))},
		{"references to references", "POST", "application/yaml", "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + references('b', 'i') + "apiVersion: hostile.example.com/v1\nkind: Thing\nmetadata: {name: thing2}\n"},
		{"references to references, applied", "PATCH", "application/apply-patch+yaml", "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + references('b', 'i') + "apiVersion: hostile.example.com/v1\nkind: Thing\nmetadata: {name: thing}\n"},
		{"members before a large list", "PATCH", "application/json-patch+json", `[{"op":"add","path":"/free/l","value":[` + list("1", many/5) + `]},` +
			list(`{"op":"add","path":"/free/l/0","value":1}`, 9_999) + `]`},
		{"empty items with a large default", "POST", "application/json", object(`"defaulted":[` + list("{}", 4*many) + `]`)},
		{"empty items with a large default in a patch", "PATCH", "application/merge-patch+json", `{"defaulted":[` + list("{}", 4*many) + `]}`},
		{"empty items with a large default, patched", "PATCH", "application/json-patch+json", `[{"op":"add","path":"/defaulted","value":[` + list("{}", 4*many) + `]}]`},
		{"empty items with a large default, applied", "PATCH", "application/apply-patch+yaml", object(`"defaulted":[` + list("{}", many/2) + `]`)},
		{"copies of copies", "PATCH", "application/json-patch+json", `[` + list(`{"op":"copy","from":"/free","path":"/free/c%d"}`, 40) + `]`},
		{"labels", "POST", "application/json", strings.Replace(object(`"free":{}`), `"name"`, `"labels":{`+list(`"-%d":"-"`, many/2)+`},"name"`, 1)},
		{"managed fields of numbers", "PUT", "application/json", strings.Replace(object(`"free":{"a":[2]}`), `"name"`, `"managedFields":[{"manager":"m","operation":"Update","apiVersion":"hostile.example.com/v1","fieldsType":"FieldsV1","fieldsV1":{"f:free":{`+
			list(`"v:-%d":{}`, 3*many)+`}}}],"name"`, 1)},
		{"owners", "POST", "application/json", strings.Replace(object(`"free":{}`), `"name"`, `"ownerReferences":[`+list(`{"apiVersion":"v1","kind":"K","name":"n","uid":"u%d"}`, many/8)+`],"name"`, 1)},
		{"finalizers", "POST", "application/json", strings.Replace(object(`"free":{}`), `"name"`, `"finalizers":[`+list(`"f%d"`, many/4)+`],"name"`, 1)},
	} {
		t.Run(test.name, func(t *testing.T) {
			at := path
			if test.method != "POST" {
				at += "/thing"
			}
			req := httptest.NewRequest(test.method, at+"?fieldManager=hostile&dryRun=All&fieldValidation=Strict", strings.NewReader(test.body)).WithContext(asOwnRequest(t.Context()))
			req.Header.Set("Content-Type", test.mediaType)
			w := httptest.NewRecorder()
			before := processorTime(t)
			handler.ServeHTTP(w, req)
			took := processorTime(t) - before
			if took > hostileWork {
				t.Errorf("took %s of processors", took)
			}
			tooLarge := strings.Contains(w.Body.String(), `"etcdserver: request is too large"`)
			if tooLarge != strings.Contains(test.name, "large default") {
				t.Errorf("%d %.300s", w.Code, w.Body)
			}
			if w.Code == http.StatusInternalServerError && !tooLarge && !strings.Contains(w.Body.String(), "failed to create typed patch object") {
				t.Errorf("%d %.300s", w.Code, w.Body)
			}
			t.Logf("%d bytes: %d with %d bytes after %s: %.150s", len(test.body), w.Code, w.Body.Len(), took, w.Body)
		})
	}
}

// numbered returns n names.
func numbered(name string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%s%d", name, i)
	}
	return names
}

// references returns lists in YAML, each of ten references to the one before.
func references(from, to rune) string {
	var text strings.Builder
	for letter := from; letter <= to; letter++ {
		fmt.Fprintf(&text, "%c: &%c [%s]\n", letter, letter, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c,", letter-1), 10), ","))
	}
	return text.String()
}
