package rbac

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// world invents objects and requests from few names, so that many of them meet.
type world struct{ *rand.Rand }

func newWorld(seed uint64) world { return world{rand.New(rand.NewPCG(seed, 1))} }

var (
	namespaces = []string{"a", "b", "c"}
	verbs      = []string{"get", "list", "watch", "create", "update", "delete", "*"}
	apiGroups  = []string{"", "apps", "shop.example.com", "*"}
	resources  = []string{"pods", "pods/status", "pods/log", "tables", "tables/status", "*", "*/status", "*/scale"}
	paths      = []string{"/metrics", "/healthz", "/healthz/*", "/apis/*", "/apis", "*", "/logs/**"}
)

func (w world) of(list []string) string { return list[w.IntN(len(list))] }

func (w world) some(list []string, atMost int) []string {
	chosen := make([]string, 1+w.IntN(atMost))
	for n := range chosen {
		chosen[n] = w.of(list)
	}
	return chosen
}

func (w world) name(prefix string, n int) string { return fmt.Sprint(prefix, w.IntN(n)) }

func (w world) rule() rbacv1.PolicyRule {
	rule := rbacv1.PolicyRule{Verbs: w.some(verbs[:len(verbs)-w.IntN(2)], 3)}
	if w.IntN(4) == 0 {
		rule.NonResourceURLs = w.some(paths, 2)
		return rule
	}
	rule.APIGroups, rule.Resources = w.some(apiGroups, 2), w.some(resources, 3)
	if w.IntN(3) == 0 {
		rule.ResourceNames = []string{w.name("object", 3), w.name("object", 3)}
	}
	if w.IntN(50) == 0 { // more than are expanded
		for n := range maxTargets {
			rule.ResourceNames = append(rule.ResourceNames, fmt.Sprint("other", n))
		}
	}
	return rule
}

func (w world) rules() []rbacv1.PolicyRule {
	rules := make([]rbacv1.PolicyRule, w.IntN(4))
	for n := range rules {
		rules[n] = w.rule()
	}
	return rules
}

func (w world) subject() rbacv1.Subject {
	switch w.IntN(4) {
	case 0:
		return rbacv1.Subject{Kind: "User", APIGroup: rbacv1.GroupName, Name: w.name("user", 20)}
	case 1:
		return rbacv1.Subject{Kind: "ServiceAccount", Namespace: w.of([]string{"", "a", "b"}), Name: w.name("robot", 3)}
	case 2:
		return rbacv1.Subject{Kind: "User", Name: "system:serviceaccount:a:" + w.name("robot", 3)}
	}
	return rbacv1.Subject{Kind: "Group", APIGroup: rbacv1.GroupName, Name: w.name("group", 60)}
}

func (w world) subjects() []rbacv1.Subject {
	subjects := make([]rbacv1.Subject, w.IntN(4))
	for n := range subjects {
		subjects[n] = w.subject()
	}
	return subjects
}

// object returns one of the objects that may exist, of which there are few enough to be replaced.
func (w world) object(roles, bindings int) runtime.Object {
	namespace, ref := w.of(namespaces), rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole",
		Name: w.name("role", roles)}
	switch w.IntN(6) {
	case 0:
		return &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: w.name("role", roles)},
			Rules: w.rules()}
	case 1:
		return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: w.name("role", roles)}, Rules: w.rules()}
	case 2, 3:
		return &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: w.name("binding", bindings)}, Subjects: w.subjects(), RoleRef: ref,
		}
	}
	if w.IntN(2) == 0 {
		ref.Kind = "Role"
	}
	return &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: w.name("binding", bindings)}, Subjects: w.subjects(),
		RoleRef: ref,
	}
}

func (w world) user() user.Info {
	u := &user.DefaultInfo{Name: w.name("user", 20)}
	if w.IntN(3) == 0 {
		u.Name = "system:serviceaccount:" + w.of(namespaces) + ":" + w.name("robot", 3)
	}
	for range w.IntN(4) {
		u.Groups = append(u.Groups, w.name("group", 60))
	}
	if w.IntN(5) == 0 { // so many that the rules are merged
		for range fewGroups {
			u.Groups = append(u.Groups, w.name("group", 90))
		}
	}
	return u
}

func (w world) request() authorizer.AttributesRecord {
	a := authorizer.AttributesRecord{User: w.user(), Verb: w.of(append(verbs[:len(verbs)-1:len(verbs)-1], "patch"))}
	if w.IntN(4) == 0 {
		a.Path = w.of([]string{"/metrics", "/metrics/slis", "/healthz", "/healthz/etcd", "/apis", "/apis/apps", "/",
			"/logs/x"})
		return a
	}
	a.ResourceRequest, a.APIGroup = true, w.of(apiGroups[:3])
	a.Resource, a.Subresource = w.of([]string{"pods", "tables", "chairs"}),
		w.of([]string{"", "", "status", "log", "scale"})
	a.Namespace, a.Name = w.of(append([]string{""}, namespaces...)), w.of([]string{"", "object0", "object1", "other5"})
	return a
}

// observation returns how an index observes an object, as JSON or as protobuf, in v1 or in v1beta1.
func (w world) observation(t testing.TB, obj runtime.Object, revision int64) dynamicstorage.Observation {
	t.Helper()
	o := dynamicstorage.Observation{Key: keyOfObject(obj), Revision: revision}
	kind := map[string]string{
		"*v1.Role": "Role", "*v1.ClusterRole": "ClusterRole", "*v1.RoleBinding": "RoleBinding",
		"*v1.ClusterRoleBinding": "ClusterRoleBinding",
	}[fmt.Sprintf("%T", obj)]
	obj = obj.DeepCopyObject()
	version := w.of([]string{"v1", "v1", "v1beta1"})
	obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{Group: rbacv1.GroupName, Version: version, Kind: kind})
	var err error
	if w.IntN(2) == 0 {
		o.Value, err = json.Marshal(obj)
	} else {
		o.Value, err = runtime.Encode(protobuf.NewSerializer(nil, nil), obj)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// compare compares decisions of an index with those of the reference. It returns how many requests are allowed.
func (w world) compare(t *testing.T, objects stored, index *Index, requests int) (allowed int) {
	t.Helper()
	z := NewAuthorizer(index)
	for range requests {
		a := w.request()
		want, reason := objects.reference(a)
		decision, got, err := z.Authorize(t.Context(), a)
		if (decision == authorizer.DecisionAllow) != want || decision == authorizer.DecisionDeny || got != reason ||
			err != nil {
			t.Fatalf("%+v of %+v: %v %q %v, want %v %q", a, a.User, decision, got, err, want, reason)
		}
		if want {
			allowed++
		}
	}
	return allowed
}

// TestDecisionsOfRandomObjects compares 10,000 decisions, by thousands of random objects, with the reference.
func TestDecisionsOfRandomObjects(t *testing.T) {
	t.Parallel()
	allowed := 0
	for n := range uint64(20) {
		w := newWorld(n)
		objects, index := stored{}, NewIndex()
		size := 5 << (n % 8)
		for range size * 4 {
			obj := w.object(size/2+1, size)
			objects[keyOfObject(obj)] = obj
		}
		index.Reset()
		for _, key := range slices.Sorted(maps.Keys(objects)) {
			index.Observe(w.observation(t, objects[key], 1))
		}
		index.Scanned(1)
		allowed += w.compare(t, objects, index, 500)
	}
	if allowed < 1000 || allowed > 9000 {
		t.Errorf("of 10000 requests %d were allowed", allowed)
	}
}
