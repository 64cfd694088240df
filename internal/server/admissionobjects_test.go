package server

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"

	"github.com/crd-server/crd-server/internal/etcdtest"
)

const (
	rulesPath   = "/apis/admissionregistration.k8s.io/v1/"
	secretsPath = "/api/v1/namespaces/default/secrets"
)

// apply creates an object of YAML at a path.
func (p *person) apply(path, yaml string) {
	p.t.Helper()
	p.must(http.StatusCreated, http.MethodPost, path, yaml, "Content-Type", "application/yaml")
}

// webhooks returns a configuration of a kind, Validating or Mutating.
func webhooks(kind, name, list string) string {
	return "apiVersion: admissionregistration.k8s.io/v1\nkind: " + kind + "WebhookConfiguration\nmetadata: {name: " +
		name +
		"}\nwebhooks:" + list
}

func secret(name, labels string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q,"labels":{%s}},"stringData":{"a":"b"}}`, name, labels)
}

const ofSecrets = `{apiGroups: [""], apiVersions: [v1], operations: ["*"], resources: [secrets]}`

// TestWebhookObjects checks that webhooks of objects are called for custom and built-in resources, for every operation,
// and not any more after their deletion.
func TestWebhookObjects(t *testing.T) {
	t.Parallel()
	h := newHooks(t)
	root := startWhole(t).root().withTables()
	root.must(201, "POST", secretsPath, secret("before", `"reject":""`))
	root.apply(rulesPath+"validatingwebhookconfigurations", webhooks("Validating", "checks",
		h.webhook("reject", "", ofTables+", "+ofSecrets, "")+
			h.webhook("look", "", ofTables+", "+ofSecrets+
				", {apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*/scale']}", "")))
	root.apply(rulesPath+"mutatingwebhookconfigurations", webhooks("Mutating", "changes",
		h.webhook("first", "", strings.Replace(ofTables, `"*"`, "CREATE, UPDATE", 1), "")))
	waitUntil(t, "the webhooks are called", func() bool {
		rejected := root.send("POST", secretsPath+"?dryRun=All", secret("dry", `"reject":""`)).code == 418
		return rejected && strings.Contains(root.send("POST", tablesPath+"?dryRun=All", table("dry", 4, "first", "")).body,
			"first")
	})
	h.take()
	merge := []string{"Content-Type", "application/merge-patch+json"}
	for _, test := range []struct {
		code               int
		method, path, body string
		headers            []string
		seen               []string
	}{
		{418, "POST", secretsPath, secret("a", `"reject":""`), nil, []string{"reject v1 CREATE"}},
		{201, "POST", secretsPath, secret("a", `"look":""`), nil, []string{"look v1 CREATE"}},
		{200, "PATCH", secretsPath + "/a", `{"data":{"c":null}}`, merge, []string{"look v1 UPDATE"}},
		{418, "DELETE", secretsPath + "/before", "", nil, []string{"reject v1 DELETE"}},
		{200, "DELETE", secretsPath + "?labelSelector=look", "", nil, []string{"look v1 DELETE"}},
		{201, "POST", tablesPath, table("a", 4, "look", "", "first", ""), nil, []string{"first v1 CREATE", "look v1 CREATE"}},
		{200, "PATCH", tablesPath + "/a/status", `{"status":{"legs":1}}`, merge,
			[]string{"first v1 UPDATE status", "look v1 UPDATE status"}},
		{200, "DELETE", tablesPath + "/a", "", nil, []string{"look v1 DELETE"}},
	} {
		if got := root.send(test.method, test.path, test.body, test.headers...); got.code != test.code {
			t.Errorf("%s %s: %d %s", test.method, test.path, got.code, got.body)
		}
		seen := h.take()
		slices.Sort(seen)
		if !slices.Equal(seen, test.seen) {
			t.Errorf("%s %s: webhooks got %q, want %q", test.method, test.path, seen, test.seen)
		}
	}
	warned := root.must(201, "POST", secretsPath, secret("b", `"look":""`))
	if !strings.Contains(warned.header.Get("Warning"), "mind the gap") {
		t.Errorf("no warning: %v", warned.header)
	}
	root.must(200, "DELETE", rulesPath+"validatingwebhookconfigurations/checks", "")
	waitUntil(t, "the webhooks are not called any more", func() bool {
		return root.send("POST", secretsPath+"?dryRun=All", secret("dry", `"reject":""`)).code == 201
	})
}

// TestWebhooksExempt checks that webhooks are not called for webhooks and policies, so that nobody is locked out.
func TestWebhooksExempt(t *testing.T) {
	t.Parallel()
	h := newHooks(t)
	root := startWhole(t).root()
	everything := "\n- name: all.example.com\n  admissionReviewVersions: [v1]\n  sideEffects: None\n  rules: " +
		"[{apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*/*']}]\n" +
		"  clientConfig: {url: " + h.URL + "/reject}\n" // without its authority
	root.apply(rulesPath+"validatingwebhookconfigurations", webhooks("Validating", "all", everything))
	waitUntil(t, "the webhook decides", func() bool {
		return root.send("POST", secretsPath+"?dryRun=All", secret("dry", "")).code == 500
	})
	root.apply(rulesPath+"validatingadmissionpolicybindings", strings.Split(fmt.Sprintf(policyOf, "x", "true"), "---")[1])
	root.must(200, "DELETE", rulesPath+"validatingadmissionpolicybindings/x", "")
	root.must(200, "DELETE", rulesPath+"validatingwebhookconfigurations/all", "")
}

// policyOf is a policy of Secrets and tables with a binding; its name and the expression are variable.
const policyOf = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  matchConstraints: {resourceRules: [
    {apiGroups: [""], apiVersions: [v1], operations: ["*"], resources: [secrets]},
    {apiGroups: [shop.example.com], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [tables]}]}
  validations: [{expression: %[2]q, message: %[1]s refuses}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s, validationActions: [Deny]}
`

// applyPolicy creates a policy and its binding.
func (p *person) applyPolicy(kind, yaml string) {
	p.t.Helper()
	policy, binding, _ := strings.Cut(yaml, "---\n")
	p.apply(rulesPath+kind+"admissionpolicies", policy)
	p.apply(rulesPath+kind+"admissionpolicybindings", binding)
}

const paramPolicy = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: legs}
spec:
  paramKind: {apiVersion: %[1]s, kind: %[2]s}
  matchConstraints: {resourceRules: [{apiGroups: [shop.example.com], apiVersions: [v1], operations: [CREATE],
    resources: [tables]}]}
  matchConditions: [{name: marked, expression: "has(object.metadata.labels) && 'limited' in object.metadata.labels"}]
  variables: [{name: least, expression: "%[3]s"}]
  validations: [{expression: "object.spec.legs >= variables.least",
    messageExpression: "'at least ' + string(variables.least)", reason: Forbidden}]
  auditAnnotations: [{key: legs, valueExpression: "string(object.spec.legs)"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: legs}
spec:
  policyName: legs
  validationActions: [Deny]
  paramRef: {name: legs, namespace: default, parameterNotFoundAction: Deny}
  matchResources: {namespaceSelector: {matchLabels: {limited: "yes"}}}
`

// TestPolicyParameters checks a policy with a parameter: a ConfigMap, and a custom resource whose CRD is created after
// the policy.
func TestPolicyParameters(t *testing.T) {
	t.Parallel()
	limits := strings.NewReplacer("table", "limit", "Table", "Limit", "shop.example.com",
		"limits.example.com").Replace(tablesCRD)
	for name, test := range map[string]struct{ version, kind, expression, path, param, changed string }{
		"ConfigMap": {"v1", "ConfigMap", "int(params.data.legs)", "/api/v1/namespaces/default/configmaps",
			`{"metadata":{"name":"legs"},"data":{"legs":"4"}}`, `{"data":{"legs":"6"}}`},
		"custom": {"limits.example.com/v1", "Limit", "params.spec.legs",
			"/apis/limits.example.com/v1/namespaces/default/limits",
			`{"apiVersion":"limits.example.com/v1","kind":"Limit","metadata":{"name":"legs"},"spec":{"legs":4}}`,
			`{"spec":{"legs":6}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := startWhole(t).root().withTables()
			try := func(legs int) answer {
				return root.send("POST", tablesPath+"?dryRun=All", table("a", legs, "limited", ""))
			}
			root.applyPolicy("validating", fmt.Sprintf(paramPolicy, test.version, test.kind, test.expression))
			root.must(200, "PATCH", namespacesPath+"/default", `{"metadata":{"labels":{"limited":"yes"}}}`,
				"Content-Type", "application/merge-patch+json")
			waitUntil(t, "the missing parameter denies", func() bool { return try(9).code >= 400 })
			if test.kind == "Limit" {
				root.must(201, "POST", definitionsPath, limits)
			}
			root.must(201, "POST", test.path, test.param)
			waitUntil(t, "the parameter is known", func() bool { return try(4).code == 201 })
			if got := try(3); got.code != 403 || !strings.Contains(got.body, "at least 4") {
				t.Errorf("three legs: %d %s", got.code, got.body)
			}
			root.must(201, "POST", tablesPath+"?dryRun=All", table("a", 3)) // not limited
			root.must(200, "PATCH", test.path+"/legs", test.changed, "Content-Type", "application/merge-patch+json")
			waitUntil(t, "the changed parameter counts", func() bool { return try(5).code == 403 })
			root.createNamespace("free")
			root.must(201, "POST", strings.Replace(tablesPath, "default", "free", 1),
				strings.Replace(table("a", 3, "limited", ""), "default", "free", 1))
		})
	}
}

const mutations = `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  reinvocationPolicy: IfNeeded
  matchConstraints: {resourceRules: [
    {apiGroups: ["", shop.example.com], apiVersions: [v1], operations: [CREATE], resources: [secrets, tables]},
    {apiGroups: [apiextensions.k8s.io], apiVersions: [v1], operations: [CREATE],
    resources: [customresourcedefinitions]}]}
  matchConditions: [{name: once, expression: "%[2]s"}]
  mutations: [%[3]s]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s}
`

// TestMutatingPolicyObjects checks both types of patches for built-in and custom resources and for CRDs. The first
// policy patches nothing until the second one has labelled the object; policies have no order, so it may be invoked
// again.
func TestMutatingPolicyObjects(t *testing.T) {
	t.Parallel()
	root := startWhole(t).root().withTables()
	root.applyPolicy("mutating", fmt.Sprintf(mutations, "a-again", "true", `{patchType: JSONPatch, jsonPatch: {expression:
		"has(object.metadata.labels) && 'applied' in object.metadata.labels ?
		[JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('x/again'), value: 'yes'}] : []"}}`))
	root.applyPolicy("mutating", fmt.Sprintf(mutations, "b-applied", "!has(object.metadata.labels)",
		`{patchType: ApplyConfiguration, applyConfiguration: {expression: "Object{metadata: Object.metadata{labels: `+
			`Object.metadata.labels{applied: 'yes'}}}"}}`))
	mutated := func(body string) bool {
		return strings.Contains(body, `"applied":"yes"`) && strings.Contains(body, `"x/again":"yes"`)
	}
	unlabelled := strings.Replace(table("a", 4), `"labels":{},`, "", 1)
	waitUntil(t, "the policies change Secrets", func() bool {
		return mutated(root.send("POST", secretsPath+"?dryRun=All", `{"metadata":{"name":"a"}}`).body)
	})
	waitUntil(t, "the policies change tables", func() bool {
		return mutated(root.send("POST", tablesPath+"?dryRun=All", unlabelled).body)
	})
	chairs := strings.NewReplacer("table", "chair", "Table", "Chair").Replace(tablesCRD)
	if got := root.must(201, "POST", definitionsPath, chairs); !mutated(got.body) {
		t.Errorf("the CRD is not changed: %s", got.body)
	}
}

// TestPolicyAnnotations checks that a policy that audits leaves its annotations in the audit log.
func TestPolicyAnnotations(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "audit.log")
	s := startWhole(t, "--audit-policy-file", written(t, "policy.yaml", auditPolicy), "--audit-log-path", file,
		"--audit-log-mode", "blocking")
	root := s.root().withTables()
	root.applyPolicy("validating", strings.NewReplacer("[Deny]", "[Audit]", "paramRef", "#paramRef",
		"paramKind", "#paramKind").Replace(fmt.Sprintf(paramPolicy, "v1", "ConfigMap", "4")))
	root.must(200, "PATCH", namespacesPath+"/default", `{"metadata":{"labels":{"limited":"yes"}}}`,
		"Content-Type", "application/merge-patch+json")
	waitUntil(t, "the policy annotates", func() bool {
		root.must(201, "POST", tablesPath+"?dryRun=All", table("a", 3, "limited", ""))
		return strings.Contains(logged(t, file), `"legs/legs":"3"`)
	})
	if !strings.Contains(logged(t, file), "validation.policy.admission.k8s.io/validation_failure") {
		t.Error("the failure is not in the audit log")
	}
}

func logged(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// TestRulesOnEveryReplica checks that rules are in effect on every replica, and for the first write after a start.
func TestRulesOnEveryReplica(t *testing.T) {
	t.Parallel()
	etcd := etcdtest.New(t, func(c *embed.Config) {
		c.ListenClientUrls = []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	})
	endpoint := "http://" + etcd.Addr().String()
	one := startWhole(t, "--etcd-servers", endpoint).root().withTables()
	two := startWhole(t, "--etcd-servers", endpoint).root()
	one.applyPolicy("validating", fmt.Sprintf(policyOf, "closed", "false"))
	refused := func(p *person) bool {
		return p.send("POST", secretsPath+"?dryRun=All", secret("dry", "")).code == 422
	}
	created := time.Now()
	waitUntil(t, "the other replica refuses", func() bool { return refused(two) })
	t.Logf("the policy is in effect on the other replica after %v", time.Since(created))
	waitUntil(t, "this replica refuses", func() bool { return refused(one) })
	three := startWhole(t, "--etcd-servers", endpoint).root()
	if !refused(three) {
		t.Error("the first write after a start was not refused")
	}
}
