package rbac

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/authentication/user"
)

// RulesFor returns the rules that a user has in a namespace: those of the ClusterRoleBindings, and those of the
// RoleBindings in the namespace unless that is empty. With an error, such as that of a binding to a missing role, the
// rules are those that were found. The caller must not modify them.
func (i *Index) RulesFor(_ context.Context, u user.Info, namespace string) ([]rbacv1.PolicyRule, error) {
	rules, errs := i.current.Load().rulesFor(identify(u), namespace)
	return rules, utilerrors.NewAggregate(errs)
}

// GetRoleReferenceRules returns the rules of the role to which a binding refers. namespace is that of the binding; it
// is empty for a ClusterRoleBinding. The error for a role that does not exist is the NotFound of a GET. The caller must
// not modify the rules.
func (i *Index) GetRoleReferenceRules(
	_ context.Context, ref rbacv1.RoleRef, namespace string,
) ([]rbacv1.PolicyRule, error) {
	named := &slot{key: keyOf(ref, namespace)}
	if found := i.current.Load().slots.get(named.key); found != nil {
		if role := found.role.Load(); role != nil {
			return role.rules, nil
		}
	}
	return nil, named.missing()
}
