package authorization

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/crd-server/crd-server/internal/access/authorization/rbac"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// janesRoles is an index with a role that lets jane get things.
func janesRoles(t *testing.T) *rbac.Index {
	t.Helper()
	index := rbac.NewIndex()
	index.Reset()
	for key, obj := range map[string]any{
		"clusterroles/reader": &rbacv1.ClusterRole{
			TypeMeta:   metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole"},
			ObjectMeta: metav1.ObjectMeta{Name: "reader"},
			Rules: []rbacv1.PolicyRule{{Verbs: []string{"get"}, APIGroups: []string{"example.com"},
				Resources: []string{"things"}}},
		},
		"clusterrolebindings/jane": &rbacv1.ClusterRoleBinding{
			TypeMeta:   metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRoleBinding"},
			ObjectMeta: metav1.ObjectMeta{Name: "jane"},
			Subjects:   []rbacv1.Subject{{Kind: "User", Name: "jane"}},
			RoleRef:    rbacv1.RoleRef{Kind: "ClusterRole", Name: "reader"},
		},
	} {
		value, err := json.Marshal(obj)
		if err != nil {
			t.Fatal(err)
		}
		index.Observe(dynamicstorage.Observation{Key: key, Revision: 1, Value: value})
	}
	index.Scanned(1)
	return index
}

// configFile writes an AuthorizationConfiguration with authorizers that need no webhook, of these types.
func configFile(t *testing.T, types ...string) string {
	t.Helper()
	var authorizers []string
	for n, mode := range types {
		authorizers = append(authorizers, fmt.Sprintf(`{"type":%q,"name":"discovery%d"}`, mode, n))
	}
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(`{"apiVersion":"apiserver.config.k8s.io/v1","kind":"AuthorizationConfiguration",`+
		`"authorizers":[`+strings.Join(authorizers, ",")+`]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestRoles checks that with RBAC the roles decide, also about what the built-in rules allow without it.
func TestRoles(t *testing.T) {
	t.Parallel()
	things, secrets := resource(jane, "get", "example.com", "things"), resource(jane, "get", "", "secrets")
	for name, test := range map[string]struct {
		change                     func(*Options)
		things, secrets, discovery bool
	}{
		"mode":             {change: func(o *Options) { o.Modes = []string{ModeNode, ModeRBAC} }, things: true},
		"file":             {change: func(o *Options) { o.ConfigFile = configFile(t, "Node", "RBAC") }, things: true},
		"mode and another": {func(o *Options) { o.Modes = []string{ModeRBAC, ModeAlwaysAllow} }, true, true, true},
		"after AlwaysDeny": {change: func(o *Options) { o.Modes = []string{ModeAlwaysDeny, ModeRBAC} }, things: true},
		"file and another": {func(o *Options) { o.ConfigFile = configFile(t, "RBAC", "AlwaysAllow") }, true, true, true},
		"without":          {change: func(o *Options) { o.Modes = []string{ModeNode} }, discovery: true},
		"file without":     {change: func(o *Options) { o.ConfigFile = configFile(t, "Node") }, discovery: true},
	} {
		a := newAuthorizerByRoles(t, janesRoles(t), test.change)
		got := []bool{allows(t, a, things), allows(t, a, secrets), allows(t, a, get(jane, "/apis"))}
		if want := []bool{test.things, test.secrets, test.discovery}; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
		if !allows(t, a, resource(admin, "delete", "", "secrets")) || !allows(t, a, get(stranger, "/readyz")) {
			t.Errorf("%s: the administrator or a health check is refused", name)
		}
	}
}

// TestRulesOfRoles checks that with RBAC the rules are those of the roles.
func TestRulesOfRoles(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Options){
		"mode": func(o *Options) { o.Modes = []string{ModeRBAC} },
		"file": func(o *Options) { o.ConfigFile = configFile(t, "RBAC") },
	} {
		a := newAuthorizerByRoles(t, janesRoles(t), change)
		resources, paths, incomplete, err := a.RulesFor(t.Context(), jane, "default")
		if len(resources) != 1 || resources[0].GetResources()[0] != "things" || len(paths) != 1 || incomplete || err != nil {
			t.Errorf("%s: %v, %v, %v, %v", name, resources, paths, incomplete, err)
		}
	}
}

// TestDecisionsAreCounted checks the metric of decisions.
func TestDecisionsAreCounted(t *testing.T) {
	t.Parallel()
	a := newAuthorizerByRoles(t, janesRoles(t), func(o *Options) { o.Modes = []string{ModeRBAC} })
	allows(t, a, resource(jane, "get", "example.com", "things"))
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != "apiserver_authorization_decisions_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			labels := map[string]string{}
			for _, label := range metric.GetLabel() {
				labels[label.GetName()] = label.GetValue()
			}
			if labels["type"] == "RBAC" && labels["decision"] == "allowed" && metric.GetCounter().GetValue() > 0 {
				return
			}
		}
	}
	t.Error("no decision was counted")
}
