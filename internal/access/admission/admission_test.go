package admission

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace/noop"
	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"
)

var (
	tableKind     = schema.GroupVersionKind{Group: "shop.example.com", Version: "v1", Kind: "Table"}
	tableResource = schema.GroupVersionResource{Group: "shop.example.com", Version: "v1", Resource: "tables"}
)

// files writes files to a new directory and returns it. It replaces DIR in their contents with the directory.
func files(t testing.TB, contents map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range contents {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(content, "DIR", dir)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// start runs an Admission until the test ends.
func start(t testing.TB, o Options) *Admission {
	t.Helper()
	a, err := New(t.Context(), Config{
		Options: &o, Authorizer: authorizerfactory.NewAlwaysAllowAuthorizer(), Tracer: noop.NewTracerProvider(),
		Own: &rest.Config{}, Services: webhook.NewDefaultServiceResolver(), ID: t.Name()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { a.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return a
}

// create admits the creation of a table and returns the table after admission.
func (a *Admission) create(t testing.TB, namespace string, legs int64) (*unstructured.Unstructured, error) {
	t.Helper()
	table := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"legs": legs}}}
	table.SetGroupVersionKind(tableKind)
	table.SetName("one")
	table.SetNamespace(namespace)
	attributes := admission.NewAttributesRecord(table, nil, tableKind, namespace, "one", tableResource, "",
		admission.Create,
		&metav1.CreateOptions{}, false, &user.DefaultInfo{Name: "jane"})
	interfaces := admission.NewObjectInterfacesFromScheme(runtime.NewScheme())
	if err := a.Admit(t.Context(), attributes, interfaces); err != nil {
		return nil, err
	}
	return table, a.Validate(t.Context(), attributes, interfaces)
}

const policyConfiguration = `apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: ValidatingAdmissionPolicy
  configuration: {apiVersion: apiserver.config.k8s.io/v1, kind: ValidatingAdmissionPolicyConfiguration,
  staticManifestsDir: DIR/policies}
`

const policy = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: legs.static.k8s.io}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - {apiGroups: [shop.example.com], apiVersions: ["*"], operations: [CREATE, UPDATE], resources: [tables]}
  validations:
  - {expression: "object.spec.legs >= 3", message: "a table needs three legs"}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: legs.static.k8s.io}
spec: {policyName: legs.static.k8s.io, validationActions: [Deny]}
`

func TestPolicyFromManifests(t *testing.T) {
	dir := files(t, map[string]string{"config.yaml": policyConfiguration, "policies/legs.yaml": policy})
	a := start(t, Options{ConfigFile: filepath.Join(dir, "config.yaml")})
	if _, err := a.create(t, "anywhere", 4); err != nil {
		t.Errorf("a table of four legs: %v", err)
	}
	_, err := a.create(t, "anywhere", 2)
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "a table needs three legs") {
		t.Errorf("a table of two legs: %v", err)
	}
}

const webhookConfiguration = `apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: MutatingAdmissionWebhook
  configuration: {apiVersion: apiserver.config.k8s.io/v1, kind: WebhookAdmissionConfiguration,
  staticManifestsDir: DIR/webhooks}
`

// legsWebhook starts a webhook that adds a leg and refuses the namespace "closed". It returns its manifest.
func legsWebhook(t *testing.T) (manifest string) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(req.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		patch, kind := []byte(`[{"op":"replace","path":"/spec/legs","value":5}]`), admissionv1.PatchTypeJSONPatch
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true, Patch: patch,
			PatchType: &kind}
		if review.Request.Namespace == "closed" {
			review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Result: &metav1.Status{Message: "closed"}}
		}
		if err := json.NewEncoder(w).Encode(review); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return mutatedBy(server, "Fail")
}

// mutatedBy returns the manifest of a webhook.
func mutatedBy(server *httptest.Server, failurePolicy string) string {
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return fmt.Sprintf(`apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: legs.static.k8s.io}
webhooks:
- name: legs.shop.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: %s
  namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [left-alone]}]}
  rules:
  - {apiGroups: [shop.example.com], apiVersions: [v1], operations: [CREATE], resources: [tables]}
  clientConfig: {url: %q, caBundle: %q}
`, failurePolicy, server.URL, base64.StdEncoding.EncodeToString(authority))
}

func TestWebhookFromManifests(t *testing.T) {
	dir := files(t, map[string]string{"config.yaml": webhookConfiguration, "webhooks/legs.yaml": legsWebhook(t)})
	a := start(t, Options{ConfigFile: filepath.Join(dir, "config.yaml")})
	for namespace, wanted := range map[string]int64{"open": 5, "left-alone": 4} {
		table, err := a.create(t, namespace, 4)
		if err != nil {
			t.Fatal(err)
		}
		if legs, _, _ := unstructured.NestedInt64(table.Object, "spec", "legs"); legs != wanted {
			t.Errorf("in namespace %s the table has %d legs, not %d", namespace, legs, wanted)
		}
	}
	if _, err := a.create(t, "closed", 4); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("in the closed namespace: %v", err)
	}
}

// TestHostCluster checks that namespaces are read from a host cluster, which has no webhooks and policies.
func TestHostCluster(t *testing.T) {
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if name, one := strings.CutPrefix(req.URL.Path, namespaces); one && name == "missing" {
			req.URL.Path = "/nothing"
		}
		resp, err := emptyCluster{}.RoundTrip(req)
		if err != nil {
			t.Error(err)
			return
		}
		w.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
		w.WriteHeader(resp.StatusCode)
		w.(http.Flusher).Flush()
		var copied [4096]byte
		for n := 1; n > 0; {
			n, _ = resp.Body.Read(copied[:])
			_, _ = w.Write(copied[:n])
		}
	}))
	dir := files(t, map[string]string{"kubeconfig": fmt.Sprintf(`{"apiVersion":"v1","kind":"Config",
"current-context":"host",
"clusters":[{"name":"host","cluster":{"server":%q}}],"contexts":[{"name":"host","context":{"cluster":"host"}}]}`,
		host.URL)})
	t.Cleanup(host.CloseClientConnections)
	a := start(t, Options{Kubeconfig: filepath.Join(dir, "kubeconfig")})
	if _, err := a.create(t, "there", 4); err != nil {
		t.Errorf("in an existing namespace: %v", err)
	}
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 20*time.Second, true,
		func(context.Context) (bool, error) {
			_, err := a.create(t, "missing", 4)
			return apierrors.IsNotFound(err), nil
		})
	if err != nil {
		t.Error("a table was admitted in a missing namespace")
	}
}

func TestNoConfiguration(t *testing.T) {
	a, err := New(t.Context(), Config{Options: &Options{}})
	if a != nil || err != nil {
		t.Errorf("there is %v, %v", a, err)
	}
}

func TestOptions(t *testing.T) {
	for name, test := range map[string]struct {
		options Options
		errs    int
	}{
		"nothing": {},
		"unknown": {Options{Enable: []string{"Nonsense"}, Disable: []string{"Other"}}, 2},
		"both": {Options{Enable: []string{"ValidatingAdmissionWebhook"},
			Disable: []string{"ValidatingAdmissionWebhook"}}, 1},
		"lifecycle with a host": {Options{Enable: []string{"NamespaceLifecycle"}, Kubeconfig: "file"}, 0},
	} {
		if errs := test.options.Validate(); len(errs) != test.errs {
			t.Errorf("%s: %v", name, errs)
		}
	}
	o := Options{ConfigFile: "file", Disable: []string{"MutatingAdmissionPolicy"}}
	if got := fmt.Sprint(o.plugins(false)); got != "[MutatingAdmissionWebhook ValidatingAdmissionPolicy "+
		"ValidatingAdmissionWebhook]" {
		t.Errorf("with a configuration and without a host cluster there are %s", got)
	}
}
