package rbac

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"unique"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// roleKey names a role.
type roleKey struct{ kind, namespace, name string }

const (
	kindRole        = "Role"
	kindClusterRole = "ClusterRole"
)

// role is a stored role. It is immutable but for what is compiled.
type role struct {
	rules []rbacv1.PolicyRule
	// compiled is made from rules at the first decision.
	compiled atomic.Pointer[ruleSet]
}

// set returns the compiled rules. Two callers may compile them at the same time; either result serves.
func (r *role) set() *ruleSet {
	if s := r.compiled.Load(); s != nil {
		return s
	}
	s := &ruleSet{}
	for n := range r.rules {
		s.add(&r.rules[n], 0)
	}
	r.compiled.Store(s)
	return s
}

// slot is the place of a role, to which its bindings point. It outlives the role while there are bindings.
type slot struct {
	key roleKey
	// role is nil while there is no such role.
	role atomic.Pointer[role]
	// bindings is the number of bindings that refer to the role. Only the index changes it.
	bindings int
}

// missing returns the error that the role does not exist, as upstream's listers word it.
func (s *slot) missing() error {
	switch s.key.kind {
	case kindRole, kindClusterRole:
		return apierrors.NewNotFound(rbacv1.Resource(strings.ToLower(s.key.kind)), s.key.name)
	}
	return fmt.Errorf("unsupported role reference kind: %q", s.key.kind)
}

// keyOf returns the key of the role to which a binding refers. namespace is that of the binding.
func keyOf(ref rbacv1.RoleRef, namespace string) roleKey {
	if ref.Kind == kindClusterRole {
		namespace = ""
	}
	return roleKey{unique.Make(ref.Kind).Value(), namespace, ref.Name}
}

// slots are the roles that exist, and those that bindings refer to. Any goroutine may get one, and only the index
// changes them.
type slots struct{ byKey sync.Map }

func (s *slots) get(key roleKey) *slot {
	if found, ok := s.byKey.Load(key); ok {
		return found.(*slot)
	}
	return nil
}

func (s *slots) add(key roleKey) *slot {
	added := &slot{key: key}
	s.byKey.Store(key, added)
	return added
}

func (s *slots) dropUnused(unused *slot) {
	if unused.bindings == 0 && unused.role.Load() == nil {
		s.byKey.Delete(unused.key)
	}
}
