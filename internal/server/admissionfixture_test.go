package server

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// hooks is a server of webhooks with a path for every kind of response.
type hooks struct {
	*httptest.Server
	mu   sync.Mutex // guards seen
	seen []string   // "path version operation", and " dry" for a dry run
}

func newHooks(t *testing.T) *hooks {
	t.Helper()
	h := &hooks{}
	h.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(req.Body).Decode(&review); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		h.record(req.URL.Path, review.Request)
		if req.URL.Path == "/slow" {
			<-req.Context().Done()
			return
		}
		review.Response = respond(req.URL.Path, review.Request)
		review.Response.UID, review.Request = review.Request.UID, nil
		_ = json.NewEncoder(w).Encode(review)
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *hooks) record(path string, asked *admissionv1.AdmissionRequest) {
	text := strings.Join([]string{path[1:], asked.Kind.Version, string(asked.Operation)}, " ")
	if asked.SubResource != "" {
		text += " " + asked.SubResource
	}
	if asked.DryRun != nil && *asked.DryRun {
		text += " dry"
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen = append(h.seen, text)
}

// take returns the requests since the last call.
func (h *hooks) take() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer func() { h.seen = nil }()
	return h.seen
}

// respond returns the response of the webhook at a path.
func respond(path string, asked *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	patch := func(operations string) *admissionv1.AdmissionResponse {
		kind := admissionv1.PatchTypeJSONPatch
		return &admissionv1.AdmissionResponse{Allowed: true, Patch: []byte(operations), PatchType: &kind}
	}
	var object struct {
		Spec struct{ Seen []string }
	}
	_ = json.Unmarshal(asked.Object.Raw, &object)
	seen := func(name string) *admissionv1.AdmissionResponse {
		all, _ := json.Marshal(append(object.Spec.Seen, name)) // strings are always encoded
		return patch(fmt.Sprintf(`[{"op":"add","path":"/spec/seen","value":%s}]`, all))
	}
	switch path {
	case "/first":
		return seen("first")
	case "/second":
		return seen("second")
	case "/strange": // removes a field with a default and adds a field that is not in the schema
		return patch(`[{"op":"remove","path":"/spec/color"},{"op":"add","path":"/spec/strange","value":true}]`)
	case "/reject":
		return &admissionv1.AdmissionResponse{Result: &metav1.Status{Message: "not this one", Code: http.StatusTeapot,
			Reason: "Tea"}}
	}
	return &admissionv1.AdmissionResponse{Allowed: true, Warnings: []string{"mind the gap"},
		AuditAnnotations: map[string]string{"looked": "twice"}}
}

// webhook returns a webhook of a manifest. It is called for objects that are labelled with its name.
func (h *hooks) webhook(name, url, rules, more string) string {
	if url == "" {
		url = h.URL + "/" + name
	}
	return fmt.Sprintf(`
- name: %s.hooks.example.com
  admissionReviewVersions: [v1]
  sideEffects: NoneOnDryRun
  objectSelector: {matchExpressions: [{key: %q, operator: Exists}]}
  rules: [%s]
  clientConfig: {url: %q, caBundle: %q}
%s`, name, name, rules, url, base64.StdEncoding.EncodeToString(authorityOf(h.Server)), more)
}

// admissionConfig writes manifests to a new directory, and a configuration that names their directories.
func admissionConfig(t *testing.T, manifests map[string]string) (file string) {
	t.Helper()
	dir := t.TempDir()
	for name, content := range manifests {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, name, content)
	}
	plugins := ""
	for plugin, configuration := range map[string]string{
		"MutatingAdmissionWebhook":   "WebhookAdmissionConfiguration",
		"ValidatingAdmissionWebhook": "WebhookAdmissionConfiguration",
		"MutatingAdmissionPolicy":    "MutatingAdmissionPolicyConfiguration",
		"ValidatingAdmissionPolicy":  "ValidatingAdmissionPolicyConfiguration",
	} {
		if _, err := os.Stat(filepath.Join(dir, plugin)); err == nil {
			plugins += fmt.Sprintf(`
- name: %s
  configuration: {apiVersion: apiserver.config.k8s.io/v1, kind: %s, staticManifestsDir: %s}`, plugin, configuration,
				filepath.Join(dir, plugin))
		}
	}
	file = filepath.Join(dir, "config.yaml")
	write(t, file, "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:"+plugins)
	return file
}

const (
	ofTables = `{apiGroups: [shop.example.com], apiVersions: [v1], operations: ["*"], resources: [tables, tables/status]}`
	ofCRDs   = `{apiGroups: [apiextensions.k8s.io], apiVersions: [v1], operations: [CREATE, UPDATE], resources: ` +
		`[customresourcedefinitions]}`
)

func hooksServer(t *testing.T, args ...string) (*hooks, *person) {
	t.Helper()
	h := newHooks(t)
	down := "https://127.0.0.1:1/down"
	manifests := map[string]string{
		"MutatingAdmissionWebhook/all.yaml": `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: mutating.static.k8s.io}
webhooks:` + h.webhook("first", "", ofTables, "  reinvocationPolicy: IfNeeded\n") +
			h.webhook("second", "", ofTables, "") + h.webhook("strange", "", ofTables, ""),
		"ValidatingAdmissionWebhook/all.yaml": `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: validating.static.k8s.io}
webhooks:` + h.webhook("reject", "", ofTables, "") + h.webhook("look", "", ofTables+", "+ofCRDs, "") +
			h.webhook("slow", "", ofTables, "  timeoutSeconds: 1\n") +
			h.webhook("down", down, ofTables, "  failurePolicy: Fail\n") +
			h.webhook("ignored", down, ofTables, "  failurePolicy: Ignore\n") +
			h.webhook("reject-crd", h.URL+"/reject", ofCRDs, "") +
			h.webhook("chosen", "", ofTables, "  matchConditions: [{name: odd, expression: 'object.spec.legs % 2 == 1'}]\n"),
	}
	s := startWhole(t, append([]string{"--admission-control-config-file", admissionConfig(t, manifests)}, args...)...)
	return h, s.root().withTables()
}
