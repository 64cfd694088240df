package rbac

import (
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	rbacv1beta1 "k8s.io/api/rbac/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// Roles and ClusterRoles have the default columns, as in kube-apiserver.

var roleBindingColumns = &resource.Columns{
	Definitions: bindingColumns("roleBinding", rbacv1beta1.RoleBinding{}.SwaggerDoc()["roleRef"]),
	Cells:       func(obj runtime.Object) []any { return roleBindingGrant(obj).cells() },
}

var clusterRoleBindingColumns = &resource.Columns{
	Definitions: bindingColumns("clusterRoleBinding", rbacv1beta1.ClusterRoleBinding{}.SwaggerDoc()["roleRef"]),
	Cells:       func(obj runtime.Object) []any { return clusterRoleBindingGrant(obj).cells() },
}

func bindingColumns(binding, roleRef string) []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		resource.NameColumn,
		{Name: "Role", Type: "string", Description: roleRef},
		resource.AgeColumn,
		{Name: "Users", Type: "string", Priority: 1, Description: "Users in the " + binding},
		{Name: "Groups", Type: "string", Priority: 1, Description: "Groups in the " + binding},
		{Name: "ServiceAccounts", Type: "string", Priority: 1, Description: "ServiceAccounts in the " + binding},
	}
}

// cells returns the cells of a binding.
func (g grant) cells() []any {
	var users, groups, accounts []string
	for n := range g.subjects {
		switch subject := &g.subjects[n]; subject.Kind {
		case rbacv1.UserKind:
			users = append(users, subject.Name)
		case rbacv1.GroupKind:
			groups = append(groups, subject.Name)
		case rbacv1.ServiceAccountKind:
			accounts = append(accounts, subject.Namespace+"/"+subject.Name)
		}
	}
	return []any{
		g.meta.Name, g.role.Kind + "/" + g.role.Name, resource.Age(g.meta),
		strings.Join(users, ", "), strings.Join(groups, ", "), strings.Join(accounts, ", "),
	}
}
