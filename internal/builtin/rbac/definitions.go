package rbac

import (
	rbacv1 "k8s.io/api/rbac/v1"
	rbacv1beta1 "k8s.io/api/rbac/v1beta1"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// Definitions returns the resources of the group.
func Definitions() []*resource.Definition {
	return []*resource.Definition{
		{
			Object: &rbacv1.ClusterRoleBinding{}, Strategy: bindingRules[*rbacv1.ClusterRoleBinding](), Default: setGroups,
			Columns: bindingColumns("clusterRoleBinding", rbacv1beta1.ClusterRoleBinding{}.SwaggerDoc()["roleRef"]),
			Upgrade: upgradeBinding,
		},
		{Object: &rbacv1.ClusterRole{}, Strategy: clusterRoleRules},
		{
			Object: &rbacv1.RoleBinding{}, Namespaced: true, Strategy: bindingRules[*rbacv1.RoleBinding](), Default: setGroups,
			Columns: bindingColumns("roleBinding", rbacv1beta1.RoleBinding{}.SwaggerDoc()["roleRef"]),
			Upgrade: upgradeBinding,
		},
		{Object: &rbacv1.Role{}, Namespaced: true, Strategy: roleRules},
	}
}
