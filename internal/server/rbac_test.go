package server

import (
	"encoding/json"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"go.etcd.io/etcd/server/v3/embed"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crd-server/crd-server/internal/bootstrap/policy"
	"github.com/crd-server/crd-server/internal/etcdtest"
)

const (
	rbacPath         = "/apis/rbac.authorization.k8s.io/v1/"
	clusterRolesPath = rbacPath + "clusterroles"
	bindingsPath     = rbacPath + "clusterrolebindings"
)

func (p *person) clusterRole(name string) *rbacv1.ClusterRole {
	p.t.Helper()
	role := &rbacv1.ClusterRole{}
	p.read(clusterRolesPath+"/"+name, role)
	return role
}

func (p *person) clusterRoleBinding(name string) *rbacv1.ClusterRoleBinding {
	p.t.Helper()
	binding := &rbacv1.ClusterRoleBinding{}
	p.read(bindingsPath+"/"+name, binding)
	return binding
}

// read decodes an object.
func (p *person) read(path string, obj any) {
	p.t.Helper()
	if err := json.Unmarshal([]byte(p.must(http.StatusOK, http.MethodGet, path, "").body), obj); err != nil {
		p.t.Fatal(err)
	}
}

// TestDefaultRoles checks that the default roles and bindings exist when a server is ready, and that they look as if a
// client had created them.
func TestDefaultRoles(t *testing.T) {
	t.Parallel()
	for tier, all := range map[string]bool{"essential": false, "all": true} {
		p := startWhole(t, "--builtin-resources="+tier).root()
		p.hasDefaults(policy.Aggregate(policy.Default(all)))
	}
}

// hasDefaults checks that default roles and bindings exist.
func (p *person) hasDefaults(defaults []policy.Object) {
	p.t.Helper()
	for _, want := range defaults {
		path := rbacPath
		if namespace := want.GetNamespace(); namespace != "" {
			path += "namespaces/" + namespace + "/"
		}
		path += strings.ToLower(want.GetObjectKind().GroupVersionKind().Kind) + "s"
		got := reflect.New(reflect.TypeOf(want).Elem()).Interface().(policy.Object)
		p.read(path+"/"+want.GetName(), got)
		if !reflect.DeepEqual(rights(got), rights(want)) || !reflect.DeepEqual(got.GetLabels(), want.GetLabels()) {
			p.t.Errorf("%s is %+v", want.GetName(), got)
		}
		p.sameFields(path, got)
	}
}

// rights returns the fields of a role or a binding that give rights.
func rights(obj policy.Object) []any {
	switch obj := obj.(type) {
	case *rbacv1.ClusterRole:
		return []any{obj.Rules, obj.AggregationRule}
	case *rbacv1.Role:
		return []any{obj.Rules}
	case *rbacv1.ClusterRoleBinding:
		return []any{obj.RoleRef, obj.Subjects}
	default:
		return []any{obj.(*rbacv1.RoleBinding).RoleRef, obj.(*rbacv1.RoleBinding).Subjects}
	}
}

// TestPublicInfoViewer checks that the binding of system:public-info-viewer is made from that of system:discovery, as
// on a server that had only the latter.
func TestPublicInfoViewer(t *testing.T) {
	t.Parallel()
	etcd := etcdtest.New(t, func(c *embed.Config) {
		c.ListenClientUrls = []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	})
	start := func() *person { return startWhole(t, "--etcd-servers", "http://"+etcd.Addr().String()).root() }
	p := start()
	p.must(http.StatusOK, http.MethodPatch, bindingsPath+"/system:discovery",
		`{"subjects":[{"kind":"User","name":"me"}],"metadata":{"annotations":{"mine":"kept",`+
			`"rbac.authorization.kubernetes.io/autoupdate":"false"}}}`, "Content-Type", "application/merge-patch+json")
	p.must(http.StatusOK, http.MethodDelete, bindingsPath+"/system:public-info-viewer", "")
	p = start()
	want, got := p.clusterRoleBinding("system:discovery"), p.clusterRoleBinding("system:public-info-viewer")
	if !reflect.DeepEqual(got.Subjects, want.Subjects) || !reflect.DeepEqual(got.Annotations, want.Annotations) ||
		got.Annotations["mine"] != "kept" || got.RoleRef.Name != "system:public-info-viewer" {
		t.Errorf("got %+v\nlike %+v", got, want)
	}
}

// sameFields checks that an object has the managed fields of a copy that a client creates.
func (p *person) sameFields(path string, obj metav1.Object) {
	p.t.Helper()
	managed := obj.GetManagedFields()
	if len(managed) != 1 {
		p.t.Fatalf("%s has the managed fields %+v", obj.GetName(), managed)
	}
	want := string(managed[0].FieldsV1.GetRawBytes())
	obj.SetName("copy")
	obj.SetManagedFields(nil)
	obj.SetResourceVersion("")
	obj.SetUID("")
	body, err := json.Marshal(obj)
	if err != nil {
		p.t.Fatal(err)
	}
	var copied metav1.PartialObjectMetadata
	answer := p.must(http.StatusCreated, http.MethodPost, path+"?dryRun=All", string(body))
	if err := json.Unmarshal([]byte(answer.body), &copied); err != nil {
		p.t.Fatal(err)
	}
	if got := string(copied.ManagedFields[0].FieldsV1.GetRawBytes()); got != want {
		p.t.Errorf("%s has the managed fields\n%s, and a copy of it\n%s", path, want, got)
	}
}

// TestReconciledRoles changes default roles and bindings, and starts another server on them.
func TestReconciledRoles(t *testing.T) {
	t.Parallel()
	etcd := etcdtest.New(t, func(c *embed.Config) {
		c.ListenClientUrls = []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	})
	start := func() *person { return startWhole(t, "--etcd-servers", "http://"+etcd.Addr().String()).root() }
	p := start()
	patch := func(path, body string) {
		t.Helper()
		p.must(http.StatusOK, http.MethodPatch, path, body, "Content-Type", "application/merge-patch+json")
	}
	extra := `{"verbs":["get"],"apiGroups":["example.com"],"resources":["extras"]}`
	patch(clusterRolesPath+"/system:basic-user", `{"rules":[`+extra+
		`],"metadata":{"labels":{"kubernetes.io/bootstrapping":null,"mine":"kept"}}}`)
	patch(clusterRolesPath+"/system:discovery",
		`{"rules":null,"metadata":{"annotations":{"rbac.authorization.kubernetes.io/autoupdate":"false"}}}`)
	p.must(http.StatusOK, http.MethodDelete, clusterRolesPath+"/view", "")
	patch(bindingsPath+"/system:monitoring", `{"subjects":[{"kind":"User","name":"me"}]}`)
	p.must(http.StatusOK, http.MethodDelete, bindingsPath+"/system:discovery", "")
	p.must(http.StatusCreated, http.MethodPost, bindingsPath,
		`{"metadata":{"name":"system:discovery"},"roleRef":{"kind":"ClusterRole","name":"view"},"subjects":[{"kind":"User",`+
			`"name":"me"}]}`)
	untouched := p.clusterRole("system:aggregate-to-edit").ResourceVersion

	p = start()
	// What was missing is added as one rule for each permission.
	role := p.clusterRole("system:basic-user")
	if len(role.Rules) != 4 || role.Rules[0].Resources[0] != "extras" || role.Labels["mine"] != "kept" ||
		len(role.Labels) != 2 {
		t.Errorf("a role that lacked rules is %+v", role)
	}
	if role := p.clusterRole("system:discovery"); len(role.Rules) > 0 {
		t.Errorf("a role that is not updated is %+v", role)
	}
	if role := p.clusterRole("view"); len(role.Rules) == 0 {
		t.Errorf("a role that was deleted is %+v", role)
	}
	if subjects := p.clusterRoleBinding("system:monitoring").Subjects; len(subjects) != 2 || subjects[0].Name != "me" {
		t.Errorf("a binding without its subject has %+v", subjects)
	}
	if b := p.clusterRoleBinding("system:discovery"); b.RoleRef.Name != "system:discovery" || len(b.Subjects) != 1 ||
		b.Subjects[0].Kind != "Group" {
		t.Errorf("a binding to another role is %+v", b)
	}
	if version := p.clusterRole("system:aggregate-to-edit").ResourceVersion; version != untouched {
		t.Errorf("a role that was complete has changed from %s to %s", untouched, version)
	}
}

// TestAggregatedRoles checks that a rule reaches all roles that aggregate it, and leaves them with its role.
func TestAggregatedRoles(t *testing.T) {
	t.Parallel()
	p := startWhole(t).root()
	const crontabs = `"resources":["crontabs"]`
	p.must(http.StatusCreated, http.MethodPost, clusterRolesPath,
		`{"metadata":{"name":"a","labels":{"rbac.authorization.k8s.io/aggregate-to-view":"true"}},"rules":[`+
			`{"verbs":["get"],"apiGroups":["stable.example.com"],`+crontabs+`},`+
			`{"verbs":["get","list","watch"],"apiGroups":[""],"resources":["namespaces"]}]}`)
	for _, name := range []string{"view", "edit", "admin"} {
		p.becomes(http.StatusOK, clusterRolesPath+"/"+name, crontabs)
	}
	role := p.clusterRole("view")
	if first := role.Rules[0]; first.Resources[0] != "crontabs" {
		t.Errorf("rules are not in the order of the names of their roles: %+v", first)
	}
	duplicates := 0
	for _, rule := range role.Rules {
		if len(rule.Resources) == 1 && rule.Resources[0] == "namespaces" {
			duplicates++
		}
	}
	if duplicates != 1 {
		t.Errorf("a rule of two roles is there %d times", duplicates)
	}
	applied := role.ManagedFields[len(role.ManagedFields)-1]
	for _, entry := range role.ManagedFields {
		if entry.Manager == "clusterrole-aggregation-controller" {
			applied = entry
		}
	}
	if applied.Operation != metav1.ManagedFieldsOperationApply ||
		string(applied.FieldsV1.GetRawBytes()) != `{"f:rules":{}}` {
		t.Errorf("the rules are managed by %+v", applied)
	}
	p.must(http.StatusCreated, http.MethodPost, clusterRolesPath,
		`{"metadata":{"name":"all"},`+
			`"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"kubernetes.io/bootstrapping":"rbac-defaults"}}]}}`)
	p.becomes(http.StatusOK, clusterRolesPath+"/all", `"nonResourceURLs":["*"]`)
	p.must(http.StatusOK, http.MethodDelete, clusterRolesPath+"/a", "")
	p.without(clusterRolesPath+"/admin", crontabs)
}

// without waits until a response lacks a text.
func (p *person) without(path, text string) {
	p.t.Helper()
	waitUntil(p.t, path+" has no "+text, func() bool {
		return !strings.Contains(p.must(http.StatusOK, http.MethodGet, path, "").body, text)
	})
}
