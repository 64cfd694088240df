package rbac

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/etcdtest"
)

// etcd is shared by all tests of the package. Each test has its own prefix.
var etcd *etcdtest.Etcd

func TestMain(m *testing.M) { os.Exit(etcdtest.Main(m, &etcd)) }

// replica is a server with an index.
type replica struct {
	*testing.T
	store *dynamicstorage.Store
	index *Index
}

func newReplica(t *testing.T, prefix string) *replica {
	t.Helper()
	store, err := dynamicstorage.New(dynamicstorage.Options{Client: etcd.Client, Prefix: prefix})
	if err != nil {
		t.Fatal(err)
	}
	r := &replica{t, store, NewIndex()}
	r.index.DelayWrites(store)
	etcdtest.Run(t, store.Run)
	etcdtest.Run(t, func(ctx context.Context) error { r.index.Run(ctx, store); return nil })
	select {
	case <-r.index.Loaded():
	case <-time.After(time.Minute):
		t.Fatal("the index is not loaded")
	}
	return r
}

// write stores an object, or deletes the one of its key if value is nil.
func (r *replica) write(folder, key string, value []byte) {
	r.Helper()
	change := dynamicstorage.Change{Op: dynamicstorage.Put, Value: value}
	if value == nil {
		change.Op = dynamicstorage.Delete
	}
	_, err := r.store.ResourceAt(folder).Update(r.Context(), key,
		func(context.Context, *dynamicstorage.Entry) (dynamicstorage.Change, error) { return change, nil },
		dynamicstorage.UpdateOptions{})
	if err != nil {
		r.Fatal(err)
	}
}

// may asks whether jane may read a configmap.
func (r *replica) may() bool {
	decision, _, _ := NewAuthorizer(r.index).Authorize(r.Context(), authorizer.AttributesRecord{
		User: &user.DefaultInfo{Name: "jane"}, Verb: "get", Resource: "configmaps", Namespace: "a", Name: "x",
		ResourceRequest: true,
	})
	return decision == authorizer.DecisionAllow
}

func encoded(t *testing.T, kind string, obj runtime.Object) []byte {
	t.Helper()
	obj.GetObjectKind().SetGroupVersionKind(rbacv1.SchemeGroupVersion.WithKind(kind))
	value, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

var (
	reader = &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		Rules:      []rbacv1.PolicyRule{{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"configmaps"}}},
	}
	janeReads = &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "jane"},
		Subjects:   []rbacv1.Subject{{Kind: "User", Name: "jane"}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "reader"},
	}
)

// TestWritesTakeEffectAtOnce checks that a decision follows every write that this server has answered, and, a little
// later, those of another server.
func TestWritesTakeEffectAtOnce(t *testing.T) {
	t.Parallel()
	prefix := etcd.Prefix(t)
	here, there := newReplica(t, prefix), newReplica(t, prefix)
	role, binding := encoded(t, "ClusterRole", reader), encoded(t, "RoleBinding", janeReads)
	for range 20 {
		here.write("clusterroles", "reader", role)
		here.write("rolebindings", "a/jane", binding)
		if !here.may() {
			t.Fatal("the new binding is not in effect")
		}
		here.write("clusterroles", "reader", nil)
		if here.may() {
			t.Fatal("the deleted role is in effect")
		}
		here.write("clusterroles", "reader", role)
		here.write("rolebindings", "a/jane", nil)
		if here.may() {
			t.Fatal("the deleted binding is in effect")
		}
	}
	here.write("rolebindings", "a/jane", binding)
	for ctx := t.Context(); !there.may(); {
		there.index.mu.Lock()
		moved := there.index.moved
		there.index.mu.Unlock()
		if there.may() {
			break
		}
		select {
		case <-moved:
		case <-ctx.Done():
			t.Fatal("the binding is not in effect on the other replica")
		}
	}
	if late := newReplica(t, prefix); !late.may() {
		t.Error("a server that starts later does not know the binding")
	}
}

// TestUnreadableObjects checks that an object that cannot be decoded gives nothing, and others still count.
func TestUnreadableObjects(t *testing.T) {
	t.Parallel()
	r := newReplica(t, etcd.Prefix(t))
	role, binding := encoded(t, "ClusterRole", reader), encoded(t, "RoleBinding", janeReads)
	r.write("clusterroles", "other", []byte("{"))
	r.write("clusterroles", "reader", role)
	r.write("rolebindings", "a/jane", binding)
	r.write("rolebindings", "a/other", []byte(`{"kind":"Unknown","apiVersion":"rbac.authorization.k8s.io/v1"}`))
	r.write("clusterrolebindings", "other", role)
	if !r.may() {
		t.Error("the readable objects are not in effect")
	}
	r.write("rolebindings", "a/jane", []byte("k8s\x00nothing"))
	if r.may() {
		t.Error("a binding that has become unreadable is in effect")
	}
	r.write("rolebindings", "a/jane", binding)
	if !r.may() {
		t.Error("a binding that has become readable is not in effect")
	}
}

// TestRulesFor checks the rules that reviews and escalation checks see.
func TestRulesFor(t *testing.T) {
	t.Parallel()
	index, w := NewIndex(), newWorld(1)
	paths := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "paths"}, Rules: []rbacv1.PolicyRule{
		{Verbs: []string{"get"}, NonResourceURLs: []string{"/metrics"}},
	}}
	bound := func(name, role, namespace string) runtime.Object {
		ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role}
		subjects := []rbacv1.Subject{{Kind: "Group", Name: "ops"}, {Kind: "User", Name: "jane"}}
		if namespace == "" {
			return &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, Subjects: subjects, RoleRef: ref}
		}
		return &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Subjects: subjects,
			RoleRef: ref}
	}
	objects := stored{}
	for _, obj := range []runtime.Object{reader, paths, bound("b", "paths", ""), bound("a", "absent", ""),
		bound("c", "reader", "a")} {
		objects[keyOfObject(obj)] = obj
	}
	w.scan(t, index, objects, 1)
	jane := &user.DefaultInfo{Name: "jane", Groups: []string{"ops"}}
	rules, err := index.RulesFor(t.Context(), jane, "a")
	if !slices.EqualFunc(rules, append(slices.Clone(paths.Rules), reader.Rules...), func(a, b rbacv1.PolicyRule) bool {
		return a.String() == b.String()
	}) || err == nil || err.Error() != `clusterrole.rbac.authorization.k8s.io "absent" not found` {
		t.Errorf("%v, %v", rules, err)
	}
	if rules, _ := index.RulesFor(t.Context(), jane, "b"); len(rules) != 1 {
		t.Errorf("in another namespace: %v", rules)
	}
	resources, others, incomplete, err := NewAuthorizer(index).RulesFor(t.Context(), jane, "a")
	if len(resources) != 1 || len(others) != 1 || incomplete || err == nil {
		t.Errorf("%v, %v, %v, %v", resources, others, incomplete, err)
	}
	if rules, err = index.GetRoleReferenceRules(t.Context(), rbacv1.RoleRef{Kind: "ClusterRole", Name: "reader"},
		"a"); len(rules) != 1 {
		t.Errorf("%v, %v", rules, err)
	}
	_, err = index.GetRoleReferenceRules(t.Context(), rbacv1.RoleRef{Kind: "Role", Name: "reader"}, "a")
	if !apierrors.IsNotFound(err) || err.Error() != `role.rbac.authorization.k8s.io "reader" not found` {
		t.Error(err)
	}
}
