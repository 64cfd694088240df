package rbac

import (
	"fmt"
	"strings"
	"unique"

	rbacv1 "k8s.io/api/rbac/v1"
	rbacv1alpha1 "k8s.io/api/rbac/v1alpha1"
	rbacv1beta1 "k8s.io/api/rbac/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	builtin "github.com/crd-server/crd-server/internal/builtin/rbac"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// folders are where the objects are stored. A binding may be observed before its role.
var folders = []string{"roles", "clusterroles", "rolebindings", "clusterrolebindings"}

// decoder decodes stored values, which are JSON, or protobuf if kube-apiserver has written them. They may have any
// version of the group.
var decoder = func() runtime.Decoder {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		rbacv1.AddToScheme, rbacv1beta1.AddToScheme, rbacv1alpha1.AddToScheme,
	} {
		utilruntime.Must(add(scheme))
	}
	return serializer.NewCodecFactory(scheme).UniversalDeserializer()
}()

// objects are the roles and bindings, and the grants that follow from them. They are not safe for concurrent use.
type objects struct {
	slots    *slots
	bindings map[bindingKey]*binding
	// grants are a copy of those published last, with the changes since.
	grants *draft
	// unreadable has the revisions of the objects that cannot be decoded, by key, so that each is logged once.
	unreadable map[string]int64
}

// bindingKey names a RoleBinding or, without a namespace, a ClusterRoleBinding.
type bindingKey struct{ namespace, name string }

func newObjects() *objects {
	return &objects{
		slots: &slots{}, bindings: map[bindingKey]*binding{}, grants: newDraft(&shards{}),
		unreadable: map[string]int64{},
	}
}

// again returns objects for another scan.
func (o *objects) again() *objects {
	fresh := newObjects()
	fresh.unreadable = o.unreadable
	return fresh
}

// publish returns the present state.
func (o *objects) publish() *state {
	published := o.grants.shards
	o.grants = newDraft(published)
	return &state{grants: published, slots: o.slots}
}

// apply applies the state of a key. An object that cannot be decoded counts as deleted.
func (o *objects) apply(observed *dynamicstorage.Observation) {
	folder, name, _ := strings.Cut(observed.Key, "/")
	namespace, below, namespaced := strings.Cut(name, "/")
	if namespaced {
		name = below
	} else {
		namespace = ""
	}
	var obj runtime.Object
	if !observed.Deleted {
		obj = o.decode(observed)
	}
	switch folder {
	case "roles":
		key, stored := roleKey{kindRole, namespace, name}, (*role)(nil)
		if decoded, ok := obj.(*rbacv1.Role); ok {
			stored = &role{rules: decoded.Rules}
		}
		o.putRole(key, stored)
	case "clusterroles":
		key, stored := roleKey{kindClusterRole, "", name}, (*role)(nil)
		if decoded, ok := obj.(*rbacv1.ClusterRole); ok {
			stored = &role{rules: decoded.Rules}
		}
		o.putRole(key, stored)
	default:
		o.putBinding(bindingKey{namespace, name}, obj)
	}
}

// decode returns the object of an observation; nil if it cannot be decoded.
func (o *objects) decode(observed *dynamicstorage.Observation) runtime.Object {
	obj, err := runtime.Object(nil), observed.Err
	if err == nil {
		obj, _, err = decoder.Decode(observed.Value, nil, nil)
	}
	if err == nil {
		obj, err = builtin.Upgrade(obj)
	}
	if err == nil {
		delete(o.unreadable, observed.Key)
		return obj
	}
	if o.unreadable[observed.Key] != observed.Revision {
		o.unreadable[observed.Key] = observed.Revision
		klog.Background().Error(fmt.Errorf("decoding: %w", err), "Authorization ignores an unreadable object", "key",
			observed.Key)
	}
	return nil
}

// putRole stores a role, or deletes it if stored is nil.
func (o *objects) putRole(key roleKey, stored *role) {
	s := o.slots.get(key)
	switch {
	case s == nil && stored == nil:
		return
	case s == nil:
		s = o.slots.add(key)
	}
	s.role.Store(stored)
	o.slots.dropUnused(s)
}

// putBinding stores a binding, or deletes it if obj is none.
func (o *objects) putBinding(key bindingKey, obj runtime.Object) {
	if old := o.bindings[key]; old != nil {
		o.remove(old)
		delete(o.bindings, key)
	}
	b := &binding{namespace: key.namespace, name: key.name}
	var ref rbacv1.RoleRef
	switch obj := obj.(type) {
	case *rbacv1.RoleBinding:
		ref, b.subjects = obj.RoleRef, compact(obj.Subjects)
	case *rbacv1.ClusterRoleBinding:
		ref, b.subjects = obj.RoleRef, compact(obj.Subjects)
	default:
		return
	}
	b.slot = o.refer(ref, key.namespace)
	o.bindings[key] = b
	for h, subject := range b.holders() {
		o.grants.set(h, withGrant(o.grants.shards.of(h), grant{b, subject}))
	}
}

// refer returns the slot of the role that a binding refers to.
func (o *objects) refer(ref rbacv1.RoleRef, namespace string) *slot {
	key := keyOf(ref, namespace)
	s := o.slots.get(key)
	if s == nil {
		s = o.slots.add(key)
	}
	s.bindings++
	return s
}

// remove removes the grants of a binding.
func (o *objects) remove(b *binding) {
	for h := range b.holders() {
		o.grants.set(h, withoutGrant(o.grants.shards.of(h), b))
	}
	b.slot.bindings--
	o.slots.dropUnused(b.slot)
}

// compact makes the subjects of all bindings share the names of their kinds, and leaves out the rest.
func compact(subjects []rbacv1.Subject) []rbacv1.Subject {
	for n := range subjects {
		s := &subjects[n]
		s.Kind, s.APIGroup = unique.Make(s.Kind).Value(), ""
	}
	return subjects
}
