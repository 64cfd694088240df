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
			GroupVersion: rbacv1.SchemeGroupVersion, Kind: "ClusterRoleBinding", Plural: "clusterrolebindings",
			Singular: "clusterrolebinding", Object: &rbacv1.ClusterRoleBinding{}, List: &rbacv1.ClusterRoleBindingList{},
			Strategy: bindingRules[*rbacv1.ClusterRoleBinding](), Default: setGroups, Upgrade: Upgrade,
			Columns: bindingColumns("clusterRoleBinding", rbacv1beta1.ClusterRoleBinding{}.SwaggerDoc()["roleRef"]),
		},
		{
			GroupVersion: rbacv1.SchemeGroupVersion, Kind: kindClusterRole, Plural: "clusterroles",
			Singular: "clusterrole", Object: &rbacv1.ClusterRole{}, List: &rbacv1.ClusterRoleList{},
			Strategy: clusterRoleRules,
		},
		{
			GroupVersion: rbacv1.SchemeGroupVersion, Kind: "RoleBinding", Plural: "rolebindings",
			Singular: "rolebinding", Namespaced: true,
			Object: &rbacv1.RoleBinding{}, List: &rbacv1.RoleBindingList{},
			Strategy: bindingRules[*rbacv1.RoleBinding](), Default: setGroups, Upgrade: Upgrade,
			Columns: bindingColumns("roleBinding", rbacv1beta1.RoleBinding{}.SwaggerDoc()["roleRef"]),
		},
		{
			GroupVersion: rbacv1.SchemeGroupVersion, Kind: kindRole, Plural: "roles",
			Singular: "role", Namespaced: true, Object: &rbacv1.Role{}, List: &rbacv1.RoleList{},
			Strategy: roleRules,
		},
	}
}
