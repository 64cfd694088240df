package rbac

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"
)

// RuleResolver knows which rules the stored roles and bindings give. The escalation checks ask it, so it must see every
// write that was answered before the call: kubectl creates a role, and then binds it.
type RuleResolver interface {
	// RulesFor returns the rules that a user has in a namespace: those of the ClusterRoleBindings, and those of the
	// RoleBindings in the namespace unless that is empty. With an error, such as that of a binding to a missing role,
	// the rules are those that were found.
	RulesFor(ctx context.Context, u user.Info, namespace string) ([]rbacv1.PolicyRule, error)
	// GetRoleReferenceRules returns the rules of the role to which a binding refers. namespace is that of the binding;
	// it is empty for a ClusterRoleBinding. The error for a role that does not exist is the NotFound of a GET.
	GetRoleReferenceRules(ctx context.Context, ref rbacv1.RoleRef, namespace string) ([]rbacv1.PolicyRule, error)
}
