package rbac

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/test/programs"
)

// ofCluster has the default roles and bindings of kube-apiserver that only a server with all kinds has.
const ofCluster = "../../internal/bootstrap/policy/cluster.yaml"

// TestDifferentialCluster compares all default roles and bindings with those of a server with all kinds, and writes
// those that other servers lack.
func TestDifferentialCluster(t *testing.T) {
	if !*upstream {
		t.Skip("without -upstream")
	}
	program, args, err := programs.ControlPlane("kube-apiserver")
	if err != nil {
		t.Fatal(err)
	}
	a := newAuthority(t)
	theirs := start(t, a, "serviceaccounts.key", program, append(args, "--", "--client-ca-file="+a.file)...)
	ours := startOurs(t, "--builtin-resources=all")
	until(t, "kube-apiserver has its bindings", func(context.Context) (bool, error) {
		return theirs.roleBindings(t)["kube-public/system:controller:bootstrap-signer"] != nil, nil
	})
	if *update {
		writeCluster(t, theirs, startOurs(t))
	}
	p := pair{t, theirs, ours}
	want, got := theirs.roles(t), ours.roles(t)
	for _, aggregated := range []string{"admin", "edit", "view"} { // no controller runs beside kube-apiserver
		want[aggregated].Rules = got[aggregated].Rules
	}
	compareAll(p, want, got)
	compareAll(p, theirs.bindings(t), ours.bindings(t))
	compareAll(p, theirs.namespacedRoles(t), ours.namespacedRoles(t))
	compareAll(p, theirs.roleBindings(t), ours.roleBindings(t))
}

// compareAll is compareDefaults for servers with the same roles or bindings.
func compareAll[T any](p pair, theirs, ours map[string]T) {
	p.Helper()
	compareDefaults(p, theirs, ours)
	for name := range theirs {
		if _, found := ours[name]; !found {
			p.Errorf("there is no %s", name)
		}
	}
}

// roleBindings returns the RoleBindings of a server by namespace and name.
func (s *server) roleBindings(t *testing.T) map[string]*rbacv1.RoleBinding {
	t.Helper()
	list, err := s.RbacV1().RoleBindings("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	bindings := map[string]*rbacv1.RoleBinding{}
	for _, b := range list.Items {
		bindings[b.Namespace+"/"+b.Name] = &rbacv1.RoleBinding{
			ObjectMeta: own(b.ObjectMeta), Subjects: b.Subjects, RoleRef: b.RoleRef,
		}
	}
	return bindings
}

// writeCluster writes the default roles and bindings that a server has, and another one lacks.
func writeCluster(t *testing.T, has, lacks *server) {
	t.Helper()
	manifests := slices.Concat(
		lacking(t, "ClusterRole", has.roles(t), lacks.roles(t)),
		lacking(t, "ClusterRoleBinding", has.bindings(t), lacks.bindings(t)),
		lacking(t, "Role", has.namespacedRoles(t), lacks.namespacedRoles(t)),
		lacking(t, "RoleBinding", has.roleBindings(t), lacks.roleBindings(t)),
	)
	if err := os.WriteFile(ofCluster, []byte(strings.Join(manifests, "---\n")), 0o644); err != nil {
		t.Fatal(err)
	}
}

// lacking returns the manifests of the objects of a kind that one server has and another one lacks, each in a line of
// JSON.
func lacking[T metav1.Object](t *testing.T, kind string, has, lacks map[string]T) (manifests []string) {
	t.Helper()
	maps.DeleteFunc(has, func(name string, _ T) bool { _, found := lacks[name]; return found })
	for _, name := range slices.Sorted(maps.Keys(has)) {
		has[name].SetLabels(nil) // all have the same labels and annotations
		has[name].SetAnnotations(nil)
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(has[name])
		if err != nil {
			t.Fatal(err)
		}
		fields["apiVersion"], fields["kind"] = rbacv1.SchemeGroupVersion.String(), kind
		manifest, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		manifests = append(manifests, string(manifest)+"\n")
	}
	return manifests
}
