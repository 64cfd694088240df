package rbac

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// Definitions returns the resources of the group.
func Definitions() []*resource.Definition {
	return []*resource.Definition{
		{
			Object:   &rbacv1.ClusterRoleBinding{},
			Strategy: bindingRules{grantOf: clusterRoleBindingGrant}, Default: defaultClusterRoleBinding,
			Columns: clusterRoleBindingColumns,
			Upgrade: upgradeBinding,
		},
		{Object: &rbacv1.ClusterRole{}, Strategy: clusterRoleRules{}},
		{
			Object: &rbacv1.RoleBinding{}, Namespaced: true,
			Strategy: bindingRules{grantOf: roleBindingGrant}, Default: defaultRoleBinding, Columns: roleBindingColumns,
			Upgrade: upgradeBinding,
		},
		{Object: &rbacv1.Role{}, Namespaced: true, Strategy: roleRules{}},
	}
}
