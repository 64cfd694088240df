package rbac

import (
	"fmt"
	"runtime"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

const (
	manyBindings = 10_000
	manyGroups   = 1_000
)

// crowd returns 10,000 bindings to 1,000 groups, and a large role for all. Each binding has a role of its own, half of
// them cluster-wide, the others in 100 namespaces.
func crowd() stored {
	objects := stored{}
	add := func(obj kruntime.Object) { objects[keyOfObject(obj)] = obj }
	for n := range manyBindings {
		name, group := fmt.Sprintf("team-%05d", n), fmt.Sprintf("group-%04d", n%manyGroups)
		subjects := []rbacv1.Subject{{Kind: "Group", APIGroup: rbacv1.GroupName, Name: group}}
		ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}
		add(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{
			{Verbs: []string{"get", "list", "watch"}, APIGroups: []string{"shop.example.com"},
				Resources: []string{name, name + "/status"}},
			{Verbs: []string{"*"}, APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{name}},
		}})
		if n%2 == 0 {
			add(&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: ref, Subjects: subjects})
			continue
		}
		namespace := fmt.Sprintf("namespace-%02d", n%100)
		add(&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, RoleRef: ref,
			Subjects: subjects})
	}
	var large []rbacv1.PolicyRule
	for n := range 60 {
		rule := rbacv1.PolicyRule{Verbs: []string{"create", "delete", "get", "list", "patch", "update", "watch"}}
		rule.APIGroups = []string{fmt.Sprintf("group%d.example.com", n/4)}
		for m := range 10 {
			rule.Resources = append(rule.Resources, fmt.Sprintf("things%d", n*10+m))
		}
		large = append(large, rule)
	}
	add(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "large"}, Rules: large})
	add(&rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "large"}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "large"},
		Subjects: []rbacv1.Subject{{Kind: "Group", Name: user.AllAuthenticated}},
	})
	return objects
}

// member returns a user in some of the groups, whose strings are new.
func member(groups int) user.Info {
	u := &user.DefaultInfo{Name: "jane", Groups: []string{user.AllAuthenticated}}
	for n := range groups {
		u.Groups = append(u.Groups, fmt.Sprintf("group-%04d", n))
	}
	return u
}

func BenchmarkAuthorize(b *testing.B) {
	w, index := newWorld(1), NewIndex()
	w.scan(b, index, crowd(), 1)
	z := NewAuthorizer(index)
	for _, groups := range []int{5, manyGroups} {
		for name, resource := range map[string]string{"allowed": "team-00004", "refused": "secrets"} {
			b.Run(fmt.Sprintf("groups=%d/%s", groups, name), func(b *testing.B) {
				a := authorizer.AttributesRecord{
					User: member(groups), Verb: "get", APIGroup: "shop.example.com", Resource: resource, Name: "x",
					ResourceRequest: true,
				}
				n := 0
				for b.Loop() {
					// The groups of a request are not those of the one before.
					if n++; n%100 == 0 {
						a.User = member(groups)
					}
					a.Namespace = crowded[n%len(crowded)]
					decision, _, _ := z.Authorize(b.Context(), a)
					if (decision == authorizer.DecisionAllow) != (name == "allowed") {
						b.Fatal(decision)
					}
				}
			})
		}
	}
}

var crowded = func() (names []string) {
	for n := range 100 {
		names = append(names, fmt.Sprintf("namespace-%02d", n))
	}
	return names
}()

// BenchmarkChange changes one of 10,000 bindings, and reports the memory of one.
func BenchmarkChange(b *testing.B) {
	w, index, objects := newWorld(1), NewIndex(), crowd()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	w.scan(b, index, objects, 1)
	runtime.GC()
	runtime.ReadMemStats(&after)
	o := w.observation(b, objects["clusterrolebindings/team-00000"], 2)
	for b.Loop() {
		o.Revision++
		index.Observe(o)
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/manyBindings, "bytes/binding-and-role")
}
