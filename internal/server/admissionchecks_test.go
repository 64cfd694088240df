package server

import (
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/util/cert"
)

// TestPolicyStatus checks that the types of a policy's expressions are checked, against a custom and a built-in
// resource.
func TestPolicyStatus(t *testing.T) {
	t.Parallel()
	root := startWhole(t).root().withTables()
	policy, _, _ := strings.Cut(fmt.Sprintf(policyOf, "typos", "object.spec.lgs > 3"), "---\n")
	root.apply(rulesPath+"validatingadmissionpolicies", policy)
	path := rulesPath + "validatingadmissionpolicies/typos"
	var status struct {
		Metadata struct{ Generation int64 }
		Status   struct {
			ObservedGeneration int64
			TypeChecking       struct {
				ExpressionWarnings []struct{ FieldRef, Warning string }
			}
		}
	}
	observed := func() bool {
		status.Status.TypeChecking.ExpressionWarnings = nil
		if err := json.Unmarshal([]byte(root.must(200, "GET", path, "").body), &status); err != nil {
			t.Fatal(err)
		}
		return status.Status.ObservedGeneration == status.Metadata.Generation
	}
	waitUntil(t, "the policy is checked", observed)
	warnings := status.Status.TypeChecking.ExpressionWarnings
	if len(warnings) != 1 || warnings[0].FieldRef != "spec.validations[0].expression" ||
		!strings.Contains(warnings[0].Warning, "shop.example.com/v1, Kind=Table: ERROR: <input>:1:12: undefined field "+
			"'lgs'") ||
		!strings.Contains(warnings[0].Warning, "/v1, Kind=Secret: ERROR: <input>:1:7: undefined field 'spec'") {
		t.Errorf("got %+v", warnings)
	}
	root.must(200, "PATCH", path, `[{"op":"replace","path":"/spec/validations/0/expression","value":"true"}]`,
		"Content-Type", "application/json-patch+json")
	waitUntil(t, "the change is checked", observed)
	if status.Metadata.Generation != 2 || len(status.Status.TypeChecking.ExpressionWarnings) > 0 {
		t.Errorf("got %+v", status)
	}
}

// TestServices checks that a webhook and a conversion that name a Service reach it by --service-resolution, and that
// the answer says what to do if no rule is for it.
func TestServices(t *testing.T) {
	t.Parallel()
	certificate, key, err := cert.GenerateSelfSignedCertKey("hook.default.svc", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan string, 10)
	hook := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		asked <- req.TLS.ServerName + " " + req.Host + req.URL.Path
		w.WriteHeader(http.StatusTeapot)
	}))
	hook.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	hook.StartTLS()
	t.Cleanup(hook.Close)
	root := startWhole(t, "--service-resolution", "default/hook=https://"+hook.Listener.Addr().String()).root()
	webhook := "\n- name: %[1]s.example.com\n  admissionReviewVersions: [v1]\n  sideEffects: None\n  rules: [" +
		ofSecrets + "]\n" +
		"  objectSelector: {matchExpressions: [{key: %[1]s, operator: Exists}]}\n" +
		"  clientConfig: {service: {namespace: default, name: %[1]s, path: /check}, caBundle: %[2]s}"
	bundle := base64.StdEncoding.EncodeToString(certificate)
	root.apply(rulesPath+"validatingwebhookconfigurations", webhooks("Validating", "services",
		fmt.Sprintf(webhook, "hook", bundle)+fmt.Sprintf(webhook, "missing", bundle)))
	waitUntil(t, "the service is asked", func() bool {
		root.send("POST", secretsPath+"?dryRun=All", secret("dry", `"hook":""`))
		return len(asked) > 0
	})
	if got := <-asked; got != "hook.default.svc hook.default.svc:443/check" {
		t.Errorf("asked %s", got)
	}
	const advice = "start the server with --service-resolution default/missing=https://HOST:PORT"
	if got := root.send("POST", secretsPath, secret("a", `"missing":""`)); got.code != 500 ||
		!strings.Contains(got.body, advice) {
		t.Errorf("without a rule: %d %s", got.code, got.body)
	}
	root.must(201, "POST", definitionsPath, strings.Replace(tablesCRD, `"scope"`,
		`"conversion":{"strategy":"Webhook","webhook":{`+
			`"conversionReviewVersions":["v1"],"clientConfig":{"caBundle":"`+bundle+
			`","service":{"namespace":"default","name":"missing"}}}},"scope"`, 1))
	root.must(201, "POST", tablesPath, table("a", 4))
	got := root.send("GET", strings.Replace(tablesPath, "/v1/", "/v2/", 1)+"/a", "")
	if got.code != 500 || !strings.Contains(got.body, advice) {
		t.Errorf("a conversion without a rule: %d %s", got.code, got.body)
	}
}

// TestParamAccess checks that a user needs the right to read parameters to refer to them in a policy or a binding.
func TestParamAccess(t *testing.T) {
	t.Parallel()
	r := newRules(t)
	s := startWhole(t, "--authorization-mode", "Webhook", "--authorization-webhook-version", "v1",
		"--authorization-webhook-config-file", kubeconfigOf(t, r.Server))
	root := s.root().withTables()
	jane := s.person("create validatingadmissionpolicies,create validatingadmissionpolicybindings,get configmaps")
	of := func(kind string) (policy, binding string) {
		policy, binding, _ = strings.Cut(strings.ReplaceAll(fmt.Sprintf(paramPolicy, "v1", kind, "1"),
			"name: legs}", "name: "+strings.ToLower(kind)+"}"), "---\n")
		return policy, strings.ReplaceAll(binding, "policyName: legs", "policyName: "+strings.ToLower(kind))
	}
	yaml := []string{"Content-Type", "application/yaml"}
	policies, bindings := rulesPath+"validatingadmissionpolicies", rulesPath+"validatingadmissionpolicybindings"
	allowed, bound := of("ConfigMap")
	jane.must(201, "POST", policies, allowed, yaml...)
	jane.must(201, "POST", bindings, bound, yaml...)
	refused, unbound := of("Secret")
	for _, test := range []struct{ path, body, message string }{
		{policies, refused, `must have \"get\" permission on all objects of the referenced paramKind (kind=Secret, ` +
			`apiVersion=v1)`},
		{bindings, unbound, `does not have \"get\" permission`},
	} {
		if got := jane.send("POST", test.path, test.body, yaml...); got.code != 422 ||
			!strings.Contains(got.body, test.message) {
			t.Errorf("%s: %d %s", test.path, got.code, got.body)
		}
	}
	root.must(201, "POST", policies, refused, yaml...)
	if got := jane.send("POST", bindings, unbound, yaml...); got.code != 422 ||
		!strings.Contains(got.body, `does not have \"get\" permission on the object referenced by paramRef`) {
		t.Errorf("a binding: %d %s", got.code, got.body)
	}
}
