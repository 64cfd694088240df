package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

const namespacesPath = "/api/v1/namespaces"

// becomes waits until a request gets a response with the code and the text.
func (p *person) becomes(code int, path, text string) answer {
	p.t.Helper()
	var got answer
	if err := wait.PollUntilContextTimeout(p.t.Context(), readyPoll, 20*time.Second, true, func(context.Context) (bool, error) {
		got = p.send(http.MethodGet, path, "")
		return got.code == code && strings.Contains(got.body, text), nil
	}); err != nil {
		p.t.Fatalf("%s: %v, last %d: %.900s", path, err, got.code, got.body)
	}
	return got
}

func (p *person) namespace(name string) *corev1.Namespace {
	p.t.Helper()
	namespace := &corev1.Namespace{}
	if err := json.Unmarshal([]byte(p.must(http.StatusOK, http.MethodGet, namespacesPath+"/"+name, "").body), namespace); err != nil {
		p.t.Fatal(err)
	}
	return namespace
}

func (p *person) createNamespace(name string) {
	p.t.Helper()
	p.must(http.StatusCreated, http.MethodPost, namespacesPath, `{"metadata":{"name":"`+name+`"}}`)
}

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
	for p.becomes(http.StatusOK, namespacesPath+"/kube-node-lease", `"phase":"Active"`); p.namespace("kube-node-lease").UID == before; {
		t.Fatal("the namespace was not deleted")
	}
}

// TestNamespaceDeletion deletes a namespace with custom and built-in objects, of which one has a finalizer.
func TestNamespaceDeletion(t *testing.T) {
	t.Parallel()
	p := startWhole(t).root().withTables()
	const objects = 120
	p.createNamespace("x")
	p.createNamespace("y")
	tables, maps := "/apis/shop.example.com/v1/namespaces/%s/tables", "/api/v1/namespaces/%s/configmaps"
	for n := range objects {
		name := fmt.Sprintf(`{"metadata":{"name":"o%d"}}`, n)
		p.must(http.StatusCreated, http.MethodPost, fmt.Sprintf(maps, "x"), name)
		p.must(http.StatusCreated, http.MethodPost, fmt.Sprintf(tables, "x"),
			strings.Replace(table(fmt.Sprint("o", n), 4), `"namespace":"default"`, `"namespace":"x"`, 1))
	}
	p.must(http.StatusCreated, http.MethodPost, fmt.Sprintf(maps, "y"), `{"metadata":{"name":"other"}}`)
	held := fmt.Sprintf(tables, "x") + "/o7"
	patch := []string{"Content-Type", "application/merge-patch+json"}
	p.must(http.StatusOK, http.MethodPatch, held, `{"metadata":{"finalizers":["example.com/hold"]}}`, patch...)
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
		"NamespaceDeletionContentFailure=False ContentDeleted: All content successfully deleted, may be waiting on finalization",
		"NamespaceContentRemaining=True SomeResourcesRemain: Some resources are remaining: tables.shop.example.com has 1 resource instances",
		"NamespaceFinalizersRemaining=True SomeFinalizersRemain: Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances",
	}, "\n"); got != want {
		t.Errorf("conditions:\n%s\nwant:\n%s", got, want)
	}
	version := p.namespace("x").ResourceVersion
	p.must(http.StatusOK, http.MethodDelete, namespacesPath+"/x", "")
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
	p.must(http.StatusOK, http.MethodPatch, held, `{"metadata":{"finalizers":null}}`, patch...)
	p.becomes(http.StatusNotFound, namespacesPath+"/x", "")
	p.must(http.StatusNotFound, http.MethodPost, fmt.Sprintf(maps, "x"), `{"metadata":{"name":"late"}}`)
	p.must(http.StatusOK, http.MethodGet, fmt.Sprintf(maps, "y")+"/other", "")
	p.createNamespace("x")
	if after := p.namespace("x"); after.UID == before.UID || len(after.Status.Conditions) > 0 {
		t.Errorf("a namespace of the same name: %+v", after)
	}
}
