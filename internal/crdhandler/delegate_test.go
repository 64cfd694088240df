package crdhandler

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/endpoints/request"
)

// TestDelegate chains two servers of custom resources and a third handler. It checks that each server answers the
// requests for its own CRDs and passes on all other requests unchanged.
func TestDelegate(t *testing.T) {
	t.Parallel()
	last := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		info, _ := request.RequestInfoFrom(req.Context())
		body, _ := io.ReadAll(req.Body)
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, "%s %s %s", info.Verb, req.URL, body)
	})
	back := newHandler(t, etcd.Client, etcd.Prefix(t)+"/back", last)
	front := newHandler(t, etcd.Client, etcd.Prefix(t)+"/front", back)
	ask := func(handler http.Handler, method, path, body string) (int, string) {
		req := httptest.NewRequest(method, path, strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		withRequestInfo(handler).ServeHTTP(w, req)
		return w.Code, w.Body.String()
	}
	for _, crd := range []struct {
		server     http.Handler
		definition string
	}{
		{front, definitionOf("front.example.com", "things", "v1", "front")},
		{back, definitionOf("back.example.com", "things", "v1", "back")},
		{front, definitionOf("both.example.com", "things", "v1", "front")},
		{back, definitionOf("both.example.com", "things", "v1", "back")},
		{front, definitionOf("versions.example.com", "things", "v1", "front")},
		{back, definitionOf("versions.example.com", "things", "v2", "back")},
	} {
		if code, body := ask(crd.server, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
			crd.definition); code != http.StatusCreated {
			t.Fatal(code, body)
		}
	}

	object := func(groupVersion string) string {
		return fmt.Sprintf(`{"apiVersion":%q,"kind":"Kindthings","metadata":{"name":"one"}}`, groupVersion)
	}
	tests := []struct {
		method, path, body string
		code               int
		has                string
	}{
		{"POST", "/apis/front.example.com/v1/namespaces/ns/things", object("front.example.com/v1"), 201,
			`"from":"front"`},
		{"POST", "/apis/back.example.com/v1/namespaces/ns/things", object("back.example.com/v1"), 201, `"from":"back"`},
		{"POST", "/apis/both.example.com/v1/namespaces/ns/things", object("both.example.com/v1"), 201,
			`"from":"front"`},
		{"POST", "/apis/versions.example.com/v1/namespaces/ns/things", object("versions.example.com/v1"), 201,
			`"from":"front"`},
		{"POST", "/apis/versions.example.com/v2/namespaces/ns/things", object("versions.example.com/v2"), 201,
			`"from":"back"`},
		{"GET", "/apis/back.example.com/v1/things", "", 200, `"name":"one"`},
		{"GET", "/apis/back.example.com/v1/namespaces/ns/things/two", "", 404,
			`things.back.example.com \"two\" not found`},
		{"GET", "/apis/back.example.com", "", 200, `"kind":"APIGroup"`},
		{"GET", "/apis/back.example.com/v1", "", 200, `"kind":"Kindthings"`},
		{"GET", "/apis/versions.example.com/v2", "", 200, `"kind":"Kindthings"`},
		{"GET", "/apis/none.example.com/v1/things?limit=1", "", 418, "list /apis/none.example.com/v1/things?limit=1"},
		{"POST", "/apis/none.example.com/v1/things", "anything", 418,
			"create /apis/none.example.com/v1/things anything"},
		{"GET", "/apis/none.example.com", "", 418, "get /apis/none.example.com"},
		{"GET", "/apis/none.example.com/v1", "", 418, "get /apis/none.example.com/v1"},
		{"GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.front.example.com", "", 200, "front"},
		{"GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.back.example.com", "", 404,
			"not found"},
		{"DELETE", "/apis/back.example.com/v1/namespaces/ns/things/one", "", 200, `"Success"`},
	}
	for _, test := range tests {
		t.Run(test.method+" "+test.path, func(t *testing.T) {
			if code, body := ask(front, test.method, test.path, test.body); code != test.code ||
				!strings.Contains(body, test.has) {
				t.Errorf("got %d, %s\nwant %d, %s", code, body, test.code, test.has)
			}
		})
	}
}
