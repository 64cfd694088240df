package crdhandler

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crd-server/crd-server/internal/crdhandler/stored"
)

func TestGet(t *testing.T) {
	t.Parallel()
	r := newReading(t)
	revision := r.put("ns/a", "red")
	want := fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"labels":{"color":"red"},"name":"a",`+
		`"namespace":"ns",`+
		`"resourceVersion":"%d","uid":"uid"},"spec":{"color":"red"}}`+"\n", revision)
	for _, query := range []string{"", "?resourceVersion=0", "?resourceVersion=", "?resourceVersion=0&pretty=false",
		fmt.Sprint("?resourceVersion=", revision), "?export=false"} {
		got := r.get("/namespaces/ns/gadgets/a" + query)
		if got.code != http.StatusOK || string(got.body) != want {
			t.Errorf("%s: %d, %s", query, got.code, got.body)
		}
		if contentType := got.header.Get("Content-Type"); contentType != "application/json" {
			t.Errorf("%s: Content-Type %q", query, contentType)
		}
	}
}

func TestGetFormats(t *testing.T) {
	t.Parallel()
	r := newReading(t)
	r.put("ns/a", "red")
	for name, tc := range map[string]struct {
		query, accept, agent string
		contentType, has     string
	}{
		"pretty":        {"?pretty=true", "", "", "application/json", "{\n  \"apiVersion\": "},
		"curl":          {"", "*/*", "curl/8.0", "application/json", "{\n  \"apiVersion\": "},
		"curl, compact": {"?pretty=false", "*/*", "curl/8.0", "application/json", `{"apiVersion":`},
		"yaml":          {"", "application/yaml", "", "application/yaml", "apiVersion: example.com/v1\nkind: Gadget\n"},
		"not protobuf": {"", "application/vnd.kubernetes.protobuf,application/json", "", "application/json",
			`"Gadget"`},
		"table": {"", "application/json;as=Table;v=v1;g=meta.k8s.io", "", "application/json",
			`{"kind":"Table","apiVersion":"meta.k8s.io/v1"`},
		"old table": {"?includeObject=None", "application/json;as=Table;v=v1beta1;g=meta.k8s.io", "",
			"application/json", `"object":null`},
		"table, object": {"?includeObject=Object", "application/json;as=Table;v=v1;g=meta.k8s.io", "",
			"application/json", `"spec":{"color":"red"}`},
		"metadata": {"", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", "", "application/json",
			`{"kind":"PartialObjectMetadata"`},
		"protobuf": {"", "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", "",
			"application/vnd.kubernetes.protobuf", "k8s\x00"},
	} {
		t.Run(name, func(t *testing.T) {
			got := r.get("/namespaces/ns/gadgets/a"+tc.query, "Accept", tc.accept, "User-Agent", tc.agent)
			if got.code != http.StatusOK || got.header.Get("Content-Type") != tc.contentType ||
				!strings.Contains(string(got.body), tc.has) {
				t.Errorf("%d, %s: %s", got.code, got.header.Get("Content-Type"), got.body)
			}
		})
	}
}

func TestGetFailures(t *testing.T) {
	t.Parallel()
	r := newReading(t)
	revision := r.put("ns/a", "red")
	r.putRaw("ns/corrupt", "{")
	for name, tc := range map[string]struct {
		path, accept string
		code         int
		reason       metav1.StatusReason
		message      string
	}{
		"absent": {"/namespaces/ns/gadgets/b", "", 404, metav1.StatusReasonNotFound,
			`gadgets.example.com "b" not found`},
		"export": {"/namespaces/ns/gadgets/a?export=true", "", 400, metav1.StatusReasonBadRequest,
			"the export parameter, deprecated since v1.14, is no longer supported"},
		"bad version": {"/namespaces/ns/gadgets/a?resourceVersion=x", "", 500, metav1.StatusReasonUnknown,
			`resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": invalid syntax`},
		"future": {fmt.Sprint("/namespaces/ns/gadgets/a?resourceVersion=", revision+future), "", 504,
			metav1.StatusReasonTimeout,
			fmt.Sprintf("Timeout: Too large resource version: %d, current: ", revision+future)},
		"other format": {"/namespaces/ns/gadgets/a", "text/html", 406, metav1.StatusReasonNotAcceptable,
			"only the following media types are accepted: application/json, application/yaml, " +
				"application/vnd.kubernetes.protobuf"},
		"bad table": {"/namespaces/ns/gadgets/a?includeObject=All", "application/json;as=Table;v=v1;g=meta.k8s.io", 400,
			metav1.StatusReasonBadRequest, "Unable to convert to Table as requested: includeObject: Invalid value"},
		"corrupt": {"/namespaces/ns/gadgets/corrupt", "", 500, metav1.StatusReasonInternalError,
			"Internal error occurred: StorageError: corrupt object"},
	} {
		t.Run(name, func(t *testing.T) {
			status := r.get(tc.path, "Accept", tc.accept).status(t, tc.code)
			if status.Reason != tc.reason || !strings.HasPrefix(status.Message, tc.message) {
				t.Errorf("%s: %s", status.Reason, status.Message)
			}
			if name == "future" && (status.Details.RetryAfterSeconds != 1 ||
				status.Details.Causes[0].Type != metav1.CauseTypeResourceVersionTooLarge) {
				t.Errorf("details %v", status.Details)
			}
		})
	}
}

func TestGetAsProtobufIsNotAcceptable(t *testing.T) {
	t.Parallel()
	r := newReading(t)
	r.put("ns/a", "red")
	got := r.get("/namespaces/ns/gadgets/a", "Accept", "application/vnd.kubernetes.protobuf")
	if got.code != http.StatusNotAcceptable || !strings.HasPrefix(string(got.body), "k8s\x00") {
		t.Errorf("%d: %q", got.code, got.body)
	}
}

func TestRespondDryRun(t *testing.T) {
	t.Parallel()
	r := newReading(t)
	req := r.request(t.Context(), "/namespaces/ns/gadgets/a")
	answer, err := r.scope.negotiate(req)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Gadget",
		"metadata": map[string]any{"name": "a"}}}
	w := httptest.NewRecorder()
	answer.respond(w, http.StatusCreated, stored.Answer{Obj: u})
	if want := `{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"a"}}` +
		"\n"; w.Code != http.StatusCreated || w.Body.String() != want {
		t.Errorf("%d: %s", w.Code, w.Body)
	}
}
