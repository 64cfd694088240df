package rbac

import (
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// bindingColumns returns the columns of bindings. Roles and ClusterRoles have the default columns, as in
// kube-apiserver.
func bindingColumns(binding, roleRef string) *resource.Columns {
	return &resource.Columns{Definitions: []metav1.TableColumnDefinition{
		resource.NameColumn,
		{Name: "Role", Type: "string", Description: roleRef},
		resource.AgeColumn,
		{Name: "Users", Type: "string", Priority: 1, Description: "Users in the " + binding},
		{Name: "Groups", Type: "string", Priority: 1, Description: "Groups in the " + binding},
		{Name: "ServiceAccounts", Type: "string", Priority: 1, Description: "ServiceAccounts in the " + binding},
	}, Cells: bindingCells}
}

func bindingCells(binding runtime.Object) []any {
	g := grantOf(binding)
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
