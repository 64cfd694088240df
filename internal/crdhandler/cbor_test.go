package crdhandler

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	"k8s.io/apiserver/pkg/features"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"

	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// TestCBORGate checks that built-in resources have no CBOR without the feature gate.
func TestCBORGate(t *testing.T) {
	handler := newLeases(t)
	for _, step := range []struct {
		method, path, contentType, accept string
		code                              int
	}{
		{"POST", leasesPath, "application/cbor", "application/json", 415},
		{"PATCH", leasesPath + "/a?fieldManager=m", "application/apply-patch+cbor", "application/json", 415},
		{"GET", leasesPath, "", "application/cbor", 406},
	} {
		req := httptest.NewRequest(step.method, step.path, strings.NewReader("\xa0"))
		req.Header.Set("Content-Type", step.contentType)
		req.Header.Set("Accept", step.accept)
		w := httptest.NewRecorder()
		if handler.ServeHTTP(w, req); w.Code != step.code {
			t.Errorf("%s %s: %d %s", step.method, step.path, w.Code, w.Body)
		}
	}
}

// TestCBOROfBuiltins writes and reads a built-in resource in CBOR. It is stored in JSON, as without the gate.
func TestCBOROfBuiltins(t *testing.T) {
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.CBORServingAndStorage, true)
	handler := newLeases(t)
	lease := func(name string, duration int64) map[string]any {
		return map[string]any{
			"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": map[string]any{"name": name},
			"spec": map[string]any{"leaseDurationSeconds": duration},
		}
	}
	for _, step := range []struct {
		method, path, contentType string
		body                      map[string]any
		code                      int
		want                      string
	}{
		{"POST", leasesPath, "application/cbor", lease("a", 1), 201, "leaseDurationSeconds"},
		{"PUT", leasesPath + "/c", "application/cbor", lease("c", 2), 201, "leaseDurationSeconds"},
		{"PATCH", leasesPath + "/b?fieldManager=m", "application/apply-patch+cbor", lease("b", 3), 201, "Apply"},
		{"GET", leasesPath + "/a", "", nil, 200, "leaseDurationSeconds"},
		{"GET", leasesPath, "", nil, 200, "LeaseList"},
		{"GET", leasesPath + "/none", "", nil, 404, "NotFound"},
		{"DELETE", leasesPath + "/b", "", nil, 200, "Success"},
	} {
		w := sendCBOR(t, handler, step.method, step.path, step.contentType, step.body)
		var decoded map[string]any
		if err := direct.Unmarshal(w.Body.Bytes(), &decoded); err != nil || w.Code != step.code ||
			w.Header().Get("Content-Type") != "application/cbor" || !bytes.Contains(w.Body.Bytes(), []byte(step.want)) {
			t.Errorf("%s %s: %d %v, %v", step.method, step.path, w.Code, decoded, err)
		}
	}
	stored, err := etcd.Client.Get(t.Context(), etcd.Prefix(t)+"/leases/ns/a")
	if err != nil || len(stored.Kvs) != 1 || !strings.HasPrefix(string(stored.Kvs[0].Value), `{"kind":"Lease"`) {
		t.Errorf("stored are %v, %v", stored.Kvs, err)
	}
	server := httptest.NewServer(handler)
	defer server.Close()
	req, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+leasesPath+"?watch=1&timeoutSeconds=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "application/cbor")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got := resp.Header.Get("Content-Type"); got != "application/cbor-seq" {
		t.Errorf("a watch is %s", got)
	}
}

const leasesPath = "/apis/coordination.k8s.io/v1/namespaces/ns/leases"

// newLeases returns a handler of leases.
func newLeases(t *testing.T) http.Handler {
	t.Helper()
	rows := builtin.Essential()
	lease := rows[slices.IndexFunc(rows, func(d *resource.Definition) bool { return d.Plural == "leases" })]
	return withRequestInfo(newHandler(t, etcd.Client, etcd.Prefix(t), http.NotFoundHandler(), lease))
}

// sendCBOR sends a request with a body in CBOR, unless it is nil, for an answer in CBOR.
func sendCBOR(
	t *testing.T, handler http.Handler, method, path, contentType string, body map[string]any,
) *httptest.ResponseRecorder {
	t.Helper()
	var encoded []byte
	if body != nil {
		var err error
		if encoded, err = direct.Marshal(body); err != nil {
			t.Fatal(err)
		}
	}
	req := httptest.NewRequest(method, path, bytes.NewReader(encoded))
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("Accept", "application/cbor")
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, req)
	return w
}
