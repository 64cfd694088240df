package crdhandler

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// copies returns n copies of item, separated by commas. The item may have a verb for its number.
func copies(n int, item string) string {
	items := make([]string, n)
	for i := range items {
		if items[i] = item; strings.Contains(item, "%") {
			items[i] = fmt.Sprintf(item, i)
		}
	}
	return strings.Join(items, ",")
}

// TestLimits checks that requests that would cost too much are refused with the limit.
func TestLimits(t *testing.T) {
	t.Parallel()
	handler := withRequestInfo(newHandler(t, etcd.Client, etcd.Prefix(t), http.NotFoundHandler()))
	send := func(method, path, mediaType, body string) *httptest.ResponseRecorder {
		req := httptest.NewRequest(method, path, strings.NewReader(body))
		req.Header.Set("Content-Type", mediaType)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, req)
		return w
	}
	const path = "/apis/limits.example.com/v1/namespaces/default/things"
	if w := send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "application/json",
		strings.Replace(definitionOf("limits.example.com", "things", "v1", "x"), `"from"`,
			`"any":{"type":"object","x-kubernetes-preserve-unknown-fields":true},"from"`, 1)); w.Code != http.StatusCreated {
		t.Fatal(w.Code, w.Body)
	}
	thing := func(metadata, any string) string {
		return `{"apiVersion":"limits.example.com/v1","kind":"Kindthings","metadata":{"name":"a"` + metadata +
			`},"spec":{"any":{` + any + `}}}`
	}
	if w := send("POST", path, "application/json", thing("", `"b":{"c":1}`)); w.Code != http.StatusCreated {
		t.Fatal(w.Code, w.Body)
	}
	deep := strings.Repeat(`{"a":`, 1000) + "1" + strings.Repeat("}", 1000)
	const tooDeep = "objects and lists may be nested 1000 levels deep"
	const merge, operations, apply = "application/merge-patch+json", "application/json-patch+json",
		"application/apply-patch+yaml"
	for _, test := range []struct{ name, method, mediaType, body, want string }{
		{"deep create", "POST", "application/json", thing("", `"a":`+deep), tooDeep},
		{"deep update", "PUT", "application/json", thing("", `"a":`+deep), tooDeep},
		{"deep YAML", "POST", "application/yaml", thing("", `"a":`+deep), tooDeep},
		{"deep merge patch", "PATCH", merge, `{"spec":{"any":{"a":` + deep + `}}}`, tooDeep},
		{"deep apply", "PATCH", apply, thing("", `"a":`+deep), tooDeep},
		{"deep YAML, applied", "PATCH", apply, "# no JSON\n" + thing("", `"a":`+deep), tooDeep},
		{"many objects", "POST", "application/json", thing("", `"a":[`+copies(50_000, "{}")+`]`),
			"at most 50000 JSON objects"},
		{"much YAML", "POST", "application/yaml", strings.Repeat("a:\n", 100_001), "use JSON for more"},
		{"much YAML, applied", "PATCH", apply, strings.Repeat("a:\n", 100_001), "use JSON for more"},
		{"labels", "POST", "application/json", thing(`,"labels":{`+copies(10_001, `"l%d":""`)+`}`, ""),
			"metadata.labels has 10001 entries, at most 10000 are allowed"},
		{"annotations in a patch", "PATCH", merge, `{"metadata":{"annotations":{` + copies(10_001, `"l%d":""`) + `}}}`,
			"metadata.annotations has 10001 entries, at most 10000 are allowed"},
		{"finalizers applied", "PATCH", apply, thing(`,"finalizers":[`+copies(10_001, `"a/l%d"`)+`]`, ""),
			"metadata.finalizers has 10001 entries, at most 10000 are allowed"},
		{"owners in operations", "PATCH", operations,
			`[{"op":"add","path":"/metadata/ownerReferences","value":[` + copies(10_001, "{}") + `]}]`,
			"metadata.ownerReferences has 10001 entries, at most 10000 are allowed"},
		{"controllers", "POST", "application/json", thing(`,"ownerReferences":[`+copies(11, `{"controller":true}`)+`]`, ""),
			"metadata.ownerReferences has 11 controllers, only one is allowed"},
		{"managed fields", "PUT", "application/json", thing(`,"managedFields":[`+copies(10_001, "{}")+`]`, ""),
			"metadata.managedFields has 10001 entries, at most 10000 are allowed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			object := path
			if test.method != "POST" {
				object += "/a"
			}
			w := send(test.method, object+"?dryRun=All&fieldManager=m", test.mediaType, test.body)
			code, reason := http.StatusBadRequest, `"BadRequest"`
			if strings.HasPrefix(test.want, "metadata") {
				code, reason = http.StatusRequestEntityTooLarge, `"RequestEntityTooLarge"`
			}
			if w.Code != code || !strings.Contains(w.Body.String(), reason) || !strings.Contains(w.Body.String(), test.want) {
				t.Errorf("%d %.300s, want %q", w.Code, w.Body, test.want)
			}
		})
	}
}
