package server

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestWebhooks checks creations with webhooks that mutate, reject, time out or are down.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	h, root := hooksServer(t)
	for _, test := range []struct {
		name    string
		code    int
		message string
		labels  []string
		seen    []string
	}{
		{"untouched", 201, "", nil, nil},
		{"mutated", 201, `"seen":["first"]`, []string{"first", ""}, []string{"first v1 CREATE"}},
		{"mutated-again", 201, `"seen":["first","second","first"]`, []string{"first", "", "second", ""},
			[]string{"first v1 CREATE", "second v1 CREATE", "first v1 CREATE"}},
		{"rejected", 418, `admission webhook \"reject.hooks.example.com\" denied the request: not this one`,
			[]string{"reject", ""}, []string{"reject v1 CREATE"}},
		{"too-late", 500, `failed calling webhook \"slow.hooks.example.com\"`, []string{"slow", ""},
			[]string{"slow v1 CREATE"}},
		{"down", 500, `failed calling webhook \"down.hooks.example.com\"`, []string{"down", ""}, nil},
		{"ignored", 201, "", []string{"ignored", ""}, nil},
		{"not-chosen", 201, "", []string{"chosen", ""}, nil},
	} {
		got := root.send("POST", tablesPath, table(test.name, 4, test.labels...))
		if got.code != test.code || !strings.Contains(got.body, test.message) {
			t.Errorf("%s: %d %s", test.name, got.code, got.body)
		}
		if seen := h.take(); !slices.Equal(seen, test.seen) {
			t.Errorf("%s: webhooks got %q, want %q", test.name, seen, test.seen)
		}
		if stored := root.send("GET", tablesPath+"/"+test.name, ""); (stored.code == 200) != (test.code == 201) {
			t.Errorf("%s: %d afterwards", test.name, stored.code)
		}
	}
	if got := root.must(201, "POST", tablesPath,
		table("chosen", 3, "chosen", "", "look", "")); got.header.Get("Warning") == "" {
		t.Errorf("no warning: %v", got.header)
	}
	if seen := h.take(); !slices.Contains(seen, "chosen v1 CREATE") {
		t.Errorf("webhooks got %q", seen)
	}
}

// TestWebhooksOfEveryVerb checks which webhooks are called for verbs other than create, and for other versions.
func TestWebhooksOfEveryVerb(t *testing.T) {
	t.Parallel()
	h, root := hooksServer(t)
	merge := []string{"Content-Type", "application/merge-patch+json"}
	root.must(201, "POST", tablesPath, table("a", 4, "look", ""))
	v2 := strings.Replace(tablesPath, "/v1/", "/v2/", 1)
	for _, test := range []struct {
		code               int
		method, path, body string
		headers            []string
		seen               []string
	}{
		{201, "POST", tablesPath + "?dryRun=All", table("dry", 4, "look", "", "first", ""), nil,
			[]string{"first v1 CREATE dry", "look v1 CREATE dry"}},
		{404, "GET", tablesPath + "/dry", "", nil, nil},
		{200, "PATCH", tablesPath + "/a", `{"spec":{"legs":5}}`, merge, []string{"look v1 UPDATE"}},
		{200, "PATCH", tablesPath + "/a/status", `{"status":{"legs":5}}`, merge, []string{"look v1 UPDATE status"}},
		// Webhooks are called with the version of their rule (matchPolicy Equivalent).
		{200, "PATCH", v2 + "/a", `{"spec":{"legs":6}}`, merge, []string{"look v1 UPDATE"}},
		{201, "POST", v2, strings.ReplaceAll(table("b", 4, "first", ""), "example.com/v1", "example.com/v2"), nil,
			[]string{"first v1 CREATE"}},
		{201, "PATCH", tablesPath + "/c?fieldManager=m", table("c", 4, "look", ""),
			[]string{"Content-Type", "application/apply-patch+yaml"}, []string{"look v1 CREATE"}},
		{200, "DELETE", tablesPath + "/c", "", nil, []string{"look v1 DELETE"}},
		{200, "DELETE", tablesPath + "?labelSelector=look", "", nil, []string{"look v1 DELETE"}},
	} {
		h.take()
		if got := root.send(test.method, test.path, test.body, test.headers...); got.code != test.code {
			t.Errorf("%s %s: %d %s", test.method, test.path, got.code, got.body)
		}
		seen := h.take()
		slices.Sort(seen)
		if !slices.Equal(seen, test.seen) {
			t.Errorf("%s %s: webhooks got %q, want %q", test.method, test.path, seen, test.seen)
		}
	}
	if got := root.must(200, "GET", v2+"/b", ""); !strings.Contains(got.body, `"seen":["first"]`) ||
		!strings.Contains(got.body, "example.com/v2") {
		t.Errorf("a change in another version: %s", got.body)
	}
}

// TestWebhooksOfDefinitions checks that webhooks are called for CRDs.
func TestWebhooksOfDefinitions(t *testing.T) {
	t.Parallel()
	h, root := hooksServer(t)
	chairs := strings.NewReplacer("table", "chair", "Table", "Chair").Replace(tablesCRD)
	got := root.send("POST", definitionsPath,
		strings.Replace(chairs, `"metadata":{`, `"metadata":{"labels":{"reject-crd":""},`, 1))
	if got.code != 418 || !strings.Contains(got.body, "not this one") {
		t.Errorf("got %d %s", got.code, got.body)
	}
	h.take()
	root.must(201, "POST", definitionsPath,
		strings.Replace(chairs, `"metadata":{`, `"metadata":{"labels":{"look":""},`, 1))
	if seen := h.take(); !slices.Contains(seen, "look v1 CREATE") {
		t.Errorf("webhooks got %q", seen)
	}
}

// TestDefaultsAfterWebhook checks that an object that a webhook has changed is defaulted again, but not pruned again
// (A5): a field that is not in the schema is stored, but not served.
func TestDefaultsAfterWebhook(t *testing.T) {
	t.Parallel()
	_, root := hooksServer(t)
	root.must(201, "POST", tablesPath, table("a", 4, "strange", ""))
	got := root.must(200, "GET", tablesPath+"/a", "")
	if !strings.Contains(got.body, `"color":"white"`) || strings.Contains(got.body, `"strange":true`) {
		t.Errorf("got %s", got.body)
	}
}

const policies = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: legs.static.k8s.io}
spec:
  failurePolicy: Fail
  matchConstraints: {resourceRules: [{apiGroups: [shop.example.com], apiVersions: [v1], operations: [CREATE, UPDATE],
    resources: [tables]}]}
  validations: [{expression: 'object.spec.legs >= 3',
    messageExpression: '"a table needs three legs, not " + string(object.spec.legs)'}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: deny.static.k8s.io}
spec: {policyName: legs.static.k8s.io, validationActions: [Deny],
matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: default}}}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: warn.static.k8s.io}
spec: {policyName: legs.static.k8s.io, validationActions: [Warn],
matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: lenient}}}}
`

const mutatingPolicies = `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: paint.static.k8s.io}
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  matchConstraints: {resourceRules: [{apiGroups: [shop.example.com], apiVersions: [v1], operations: [CREATE],
    resources: [tables]}]}
  mutations: [{patchType: ApplyConfiguration,
    applyConfiguration: {expression: 'Object{spec: Object.spec{color: "green"}}'}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: paint.static.k8s.io}
spec: {policyName: paint.static.k8s.io}
`

// TestPolicies checks that policies of manifests validate and mutate.
func TestPolicies(t *testing.T) {
	t.Parallel()
	s := startWhole(t, "--admission-control-config-file", admissionConfig(t, map[string]string{
		"ValidatingAdmissionPolicy/legs.yaml": policies, "MutatingAdmissionPolicy/paint.yaml": mutatingPolicies,
	}))
	root := s.root().withTables()
	waitUntil(t, "the policy applies to tables", func() bool {
		got := root.send("POST", tablesPath+"?dryRun=All", table("a", 4))
		return got.code == 201 && strings.Contains(got.body, `"color":"green"`)
	})
	got := root.send("POST", tablesPath, table("b", 2))
	if got.code != 422 || !strings.Contains(got.body, "a table needs three legs, not 2") {
		t.Errorf("got %d %s", got.code, got.body)
	}
	root.createNamespace("lenient")
	lenient := strings.Replace(tablesPath, "default", "lenient", 1)
	warned := root.must(201, "POST", lenient, strings.Replace(table("b", 2), "default", "lenient", 1))
	if !strings.Contains(warned.header.Get("Warning"), "three legs") {
		t.Errorf("got %v", warned.header)
	}
}

// TestPoliciesOfHostCluster checks that policies, bindings, parameters and namespaces are read from a host cluster.
func TestPoliciesOfHostCluster(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	const group = "/apis/admissionregistration.k8s.io/v1/"
	h.put(group+"validatingadmissionpolicies",
		`{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy","metadata":{"name":"legs",
"uid":"1","resourceVersion":"1"},
"spec":{"failurePolicy":"Fail","paramKind":{"apiVersion":"v1","kind":"ConfigMap"},
"matchConstraints":{"matchPolicy":"Equivalent","namespaceSelector":{},"objectSelector":{},
"resourceRules":[{"apiGroups":["shop.example.com"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["tables"],
"scope":"*"}]},
"validations":[{"expression":"object.spec.legs >= int(params.data.legs)","message":"too few legs"}]}}`)
	h.put(group+"validatingadmissionpolicybindings",
		`{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicyBinding","metadata":{"name":"legs",
"uid":"2","resourceVersion":"1"},
"spec":{"policyName":"legs","validationActions":["Deny"],"paramRef":{"name":"legs","namespace":"default",
"parameterNotFoundAction":"Deny"}}}`)
	h.put("/api/v1/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"legs","namespace":"default",`+
		`"uid":"3","resourceVersion":"1"},"data":{"legs":"4"}}`)
	namespace := `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q,"uid":"4","resourceVersion":"1",` +
		`"labels":{"kubernetes.io/metadata.name":%[1]q}%s},"status":{"phase":%q}}`
	h.put("/api/v1/namespaces", fmt.Sprintf(namespace, "default", "", "Active"))
	h.put("/api/v1/namespaces", fmt.Sprintf(namespace, "leaving", `,"deletionTimestamp":"2026-01-01T00:00:00Z"`,
		"Terminating"))
	h.discover("/api", `{"kind":"APIVersions","versions":["v1"]}`)
	h.discover("/apis", `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`)
	h.discover("/api/v1", `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"configmaps",`+
		`"singularName":"configmap","namespaced":true,"kind":"ConfigMap","verbs":["get","list","watch"]}]}`)
	s := startWhole(t, "--kubeconfig", kubeconfigOf(t, h.Server))
	root := s.root().withTables()
	waitUntil(t, "the policy is in effect", func() bool {
		got := root.send("POST", tablesPath+"?dryRun=All", table("a", 3))
		return got.code == 422 && strings.Contains(got.body, "too few legs")
	})
	root.must(201, "POST", tablesPath, table("a", 4))
	for name, want := range map[string]struct {
		code    int
		message string
	}{
		"missing": {404, `it is not in the host cluster`},
		"leaving": {403, `because it is being terminated`},
	} {
		got := root.send("POST", strings.Replace(tablesPath, "default", name, 1),
			strings.Replace(table("a", 4), "default", name, 1))
		if got.code != want.code || !strings.Contains(got.body, want.message) {
			t.Errorf("in namespace %s: %d %s", name, got.code, got.body)
		}
	}
}
