package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

const namespacesPath = "/api/v1/namespaces"

// becomes waits until a request gets a response with the code and the text.
func (p *person) becomes(code int, path, text string) answer {
	p.t.Helper()
	var got answer
	if err := wait.PollUntilContextTimeout(p.t.Context(), readyPoll, 20*time.Second, true,
		func(context.Context) (bool, error) {
			got = p.send(http.MethodGet, path, "")
			return got.code == code && strings.Contains(got.body, text), nil
		}); err != nil {
		p.t.Fatalf("%s: %v, last %d: %.3900s", path, err, got.code, got.body)
	}
	return got
}

func (p *person) namespace(name string) *corev1.Namespace {
	p.t.Helper()
	namespace := &corev1.Namespace{}
	if err := json.Unmarshal([]byte(p.must(http.StatusOK, http.MethodGet, namespacesPath+"/"+name, "").body),
		namespace); err != nil {
		p.t.Fatal(err)
	}
	return namespace
}

func (p *person) createNamespace(name string) {
	p.t.Helper()
	p.must(http.StatusCreated, http.MethodPost, namespacesPath, `{"metadata":{"name":"`+name+`"}}`)
}

func (p *person) createTable(namespace, name string) {
	p.t.Helper()
	p.must(http.StatusCreated, http.MethodPost, "/apis/shop.example.com/v1/namespaces/"+namespace+"/tables",
		strings.Replace(table(name, 4), `"namespace":"default"`, `"namespace":"`+namespace+`"`, 1))
}

// mergePatch is the header of a merge patch.
var mergePatch = []string{"Content-Type", "application/merge-patch+json"}

// TestSystemNamespaces checks that a server has the namespaces of kube-apiserver when it is ready, that three of them
// cannot be deleted, and that the fourth is created again.
func TestSystemNamespaces(t *testing.T) {
	t.Parallel()
	p := startWhole(t).root()
	for _, name := range []string{"default", "kube-system", "kube-public", "kube-node-lease"} {
		namespace := p.namespace(name)
		if namespace.Labels["kubernetes.io/metadata.name"] != name || namespace.Status.Phase != corev1.NamespaceActive {
			t.Errorf("%s: %+v", name, namespace)
		}
		if name != "kube-node-lease" {
			p.must(http.StatusForbidden, http.MethodDelete, namespacesPath+"/"+name, "")
		}
	}
	before := p.namespace("kube-node-lease").UID
	p.must(http.StatusOK, http.MethodDelete, namespacesPath+"/kube-node-lease", "")
	waitUntil(t, "the namespace is created again", func() bool {
		got := p.send(http.MethodGet, namespacesPath+"/kube-node-lease", "")
		return got.code == http.StatusOK && !strings.Contains(got.body, string(before))
	})
}

const noPublic = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: public.static.k8s.io}
spec:
  failurePolicy: Fail
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE],
    resources: [namespaces]}]}
  validations: [{expression: 'object.metadata.name != "kube-public"', message: nothing is public}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: public.static.k8s.io}
spec: {policyName: public.static.k8s.io, validationActions: [Deny]}
`

// TestSystemNamespaceFields checks that a system namespace is stored as one that a client creates.
func TestSystemNamespaceFields(t *testing.T) {
	t.Parallel()
	p := startWhole(t).root()
	p.createNamespace("x")
	withoutOrigin := func(name string) string {
		namespace := p.namespace(name)
		if namespace.UID == "" || namespace.CreationTimestamp.IsZero() || len(namespace.ManagedFields) != 1 ||
			namespace.ManagedFields[0].Time == nil || namespace.ManagedFields[0].Manager == "" {
			t.Errorf("%s is incomplete: %+v", name, namespace)
			return ""
		}
		namespace.UID, namespace.CreationTimestamp, namespace.ResourceVersion = "", metav1.Time{}, ""
		namespace.ManagedFields[0].Time, namespace.ManagedFields[0].Manager = nil, ""
		text, err := json.Marshal(namespace)
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(string(text), `:"`+name+`"`, `:"NAME"`)
	}
	if system, other := withoutOrigin("default"), withoutOrigin("x"); system != other {
		t.Errorf("a system namespace is\n%s\nand another is\n%s", system, other)
	}
}

// TestSystemNamespacesPassAdmission checks that admission is not asked about system namespaces at the start.
func TestSystemNamespacesPassAdmission(t *testing.T) {
	t.Parallel()
	p := startWhole(t, "--admission-control-config-file", admissionConfig(t, map[string]string{
		"ValidatingAdmissionPolicy/public.yaml": noPublic,
	})).root()
	for _, name := range []string{"default", "kube-system", "kube-public", "kube-node-lease"} {
		p.namespace(name)
	}
}

// TestNamespaceDeletion deletes a namespace with custom and built-in objects, of which one has a finalizer.
func TestNamespaceDeletion(t *testing.T) {
	t.Parallel()
	p := startWhole(t, "--enable-garbage-collector").root().withTables()
	const objects = 120
	p.createNamespace("x")
	p.createNamespace("y")
	tables, maps := "/apis/shop.example.com/v1/namespaces/%s/tables", "/api/v1/namespaces/%s/configmaps"
	for n := range objects {
		name := fmt.Sprintf(`{"metadata":{"name":"o%d"}}`, n)
		p.must(http.StatusCreated, http.MethodPost, fmt.Sprintf(maps, "x"), name)
		p.createTable("x", fmt.Sprint("o", n))
	}
	p.must(http.StatusCreated, http.MethodPost, fmt.Sprintf(maps, "y"), `{"metadata":{"name":"other"}}`)
	held := fmt.Sprintf(tables, "x") + "/o7"
	p.must(http.StatusOK, http.MethodPatch, held, `{"metadata":{"finalizers":["example.com/hold"]}}`, mergePatch...)
	before := p.namespace("x")
	p.must(http.StatusOK, http.MethodDelete, namespacesPath+"/x", "")

	p.becomes(http.StatusOK, namespacesPath+"/x", "SomeFinalizersRemain")
	p.must(http.StatusNotFound, http.MethodGet, fmt.Sprintf(maps, "x")+"/o0", "")
	var conditions []string
	for _, c := range p.namespace("x").Status.Conditions {
		conditions = append(conditions, fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message))
	}
	if got, want := strings.Join(conditions, "\n"), strings.Join([]string{
		"NamespaceDeletionDiscoveryFailure=False ResourcesDiscovered: All resources successfully discovered",
		"NamespaceDeletionGroupVersionParsingFailure=False ParsedGroupVersions: All legacy kube types successfully parsed",
		"NamespaceDeletionContentFailure=False ContentDeleted: All content successfully deleted, may be waiting on " +
			"finalization",
		"NamespaceContentRemaining=True SomeResourcesRemain: Some resources are remaining: tables.shop.example.com has 1 " +
			"resource instances",
		"NamespaceFinalizersRemaining=True SomeFinalizersRemain: Some content in the namespace has finalizers remaining: " +
			"example.com/hold in 1 resource instances",
	}, "\n"); got != want {
		t.Errorf("conditions:\n%s\nwant:\n%s", got, want)
	}
	version := p.namespace("x").ResourceVersion
	p.must(http.StatusOK, http.MethodDelete, namespacesPath+"/x?propagationPolicy=Orphan", "")
	if after := p.namespace("x").ResourceVersion; after != version {
		t.Errorf("a second DELETE has changed the namespace from %s to %s", version, after)
	}
	for path, body := range map[string]string{
		maps:   `{"metadata":{"generateName":"new"}}`,
		tables: `{"apiVersion":"shop.example.com/v1","kind":"Table","metadata":{"generateName":"new"}}`,
	} {
		refused := p.must(http.StatusForbidden, http.MethodPost, fmt.Sprintf(path, "x"), body)
		if !strings.Contains(refused.body, "unable to create new content in namespace x because it is being terminated") {
			t.Errorf("a creation while the namespace is being deleted: %s", refused.body)
		}
	}
	p.must(http.StatusOK, http.MethodPatch, held, `{"metadata":{"finalizers":null}}`, mergePatch...)
	p.becomes(http.StatusNotFound, namespacesPath+"/x", "")
	p.must(http.StatusNotFound, http.MethodPost, fmt.Sprintf(maps, "x"), `{"metadata":{"name":"late"}}`)
	p.must(http.StatusOK, http.MethodGet, fmt.Sprintf(maps, "y")+"/other", "")
	p.createNamespace("x")
	if after := p.namespace("x"); after.UID == before.UID || len(after.Status.Conditions) > 0 {
		t.Errorf("a namespace of the same name: %+v", after)
	}
}

// TestNamespaceDeletionContinues stops the server while it deletes a namespace. The next server finishes that.
func TestNamespaceDeletionContinues(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	first := startWhole(t, "--data-dir", dir)
	p := first.root().withTables()
	p.createNamespace("x")
	for n := range 100 {
		p.createTable("x", fmt.Sprint("o", n))
	}
	p.must(http.StatusOK, http.MethodDelete, namespacesPath+"/x", "")
	first.shutDown()

	p = startWhole(t, "--data-dir", dir).root()
	p.becomes(http.StatusNotFound, namespacesPath+"/x", "")
	p.becomes(http.StatusOK, "/apis/shop.example.com/v1/tables", `"items":[]`)
}

// TestNamespaceOfDeletedDefinition deletes a CRD while a namespace waits for one of its objects.
func TestNamespaceOfDeletedDefinition(t *testing.T) {
	t.Parallel()
	p := startWhole(t).root().withTables()
	p.createNamespace("x")
	p.createTable("x", "held")
	held := "/apis/shop.example.com/v1/namespaces/x/tables/held"
	p.must(http.StatusOK, http.MethodPatch, held, `{"metadata":{"finalizers":["example.com/hold"]}}`, mergePatch...)
	p.must(http.StatusOK, http.MethodDelete, namespacesPath+"/x", "")
	p.becomes(http.StatusOK, namespacesPath+"/x", "SomeFinalizersRemain")
	p.must(http.StatusOK, http.MethodDelete, definitionsPath+"/tables.shop.example.com", "")
	p.must(http.StatusOK, http.MethodPatch, held, `{"metadata":{"finalizers":null}}`, mergePatch...)
	p.becomes(http.StatusNotFound, namespacesPath+"/x", "")
}

// TestNamespaceWithoutConversion deletes a namespace with objects whose conversion webhook does not answer. Deleting
// them needs no conversion.
func TestNamespaceWithoutConversion(t *testing.T) {
	t.Parallel()
	p := startWhole(t).root()
	p.must(http.StatusCreated, http.MethodPost, definitionsPath, strings.Replace(tablesCRD, `"scope":`,
		`"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],`+
			`"clientConfig":{"url":"https://127.0.0.1:1/"}}},"scope":`, 1))
	p.createNamespace("x")
	p.createTable("x", "a")
	p.must(http.StatusInternalServerError, http.MethodGet, "/apis/shop.example.com/v2/namespaces/x/tables/a", "")
	p.must(http.StatusOK, http.MethodDelete, namespacesPath+"/x", "")
	p.becomes(http.StatusNotFound, namespacesPath+"/x", "")
}

const noDeletion = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: kept.static.k8s.io}
spec:
  failurePolicy: Fail
  matchConstraints: {resourceRules: [{apiGroups: [shop.example.com], apiVersions: [v1, v2], operations: [DELETE],
    resources: [tables]}]}
  validations: [{expression: '!has(oldObject.metadata.labels)', message: a table with labels is kept}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: kept.static.k8s.io}
spec: {policyName: kept.static.k8s.io, validationActions: [Deny]}
`

// TestNamespaceWhoseContentStays checks the condition of a namespace while admission keeps an object, and that the
// controller tries again.
func TestNamespaceWhoseContentStays(t *testing.T) {
	t.Parallel()
	p := startWhole(t, "--admission-control-config-file", admissionConfig(t, map[string]string{
		"ValidatingAdmissionPolicy/kept.yaml": noDeletion,
	})).root().withTables()
	p.createNamespace("x")
	p.createTable("x", "a")
	kept := "/apis/shop.example.com/v1/namespaces/x/tables/a"
	p.must(http.StatusOK, http.MethodPatch, kept, `{"metadata":{"labels":{"keep":"me"}}}`, mergePatch...)
	waitUntil(t, "the policy is in effect", func() bool {
		return p.send(http.MethodDelete, kept+"?dryRun=All", "").code == http.StatusUnprocessableEntity
	})
	p.must(http.StatusOK, http.MethodDelete, namespacesPath+"/x", "")
	p.becomes(http.StatusOK, namespacesPath+"/x",
		`"reason":"ContentDeletionFailed","message":"Failed to delete all resource types, 1 remaining: `+
			`tables.shop.example.com \"Unknown\" is forbidden: ValidatingAdmissionPolicy 'kept.static.k8s.io' with binding `+
			`'kept.static.k8s.io' denied request: `+
			`a table with labels is kept"`)
	p.must(http.StatusOK, http.MethodPatch, kept, `{"metadata":{"labels":null}}`, mergePatch...)
	p.becomes(http.StatusNotFound, namespacesPath+"/x", "")
}
