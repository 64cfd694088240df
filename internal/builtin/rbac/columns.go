package rbac

import (
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// bindingColumns returns the columns of bindings. Roles and ClusterRoles have the default columns, as in
// kube-apiserver.
func bindingColumns(binding, role string) resource.Columns[runtime.Object] {
	subjects := func(kind string) func(obj runtime.Object) any {
		return func(obj runtime.Object) any { return grantOf(obj).names(kind) }
	}
	return resource.Columns[runtime.Object]{
		{Name: "Role", Doc: role, Cell: func(obj runtime.Object) any {
			role := grantOf(obj).role
			return role.Kind + "/" + role.Name
		}},
		{Name: "Age"},
		{Name: "Users", Wide: true, Doc: "Users in the " + binding, Cell: subjects(rbacv1.UserKind)},
		{Name: "Groups", Wide: true, Doc: "Groups in the " + binding, Cell: subjects(rbacv1.GroupKind)},
		{Name: "ServiceAccounts", Wide: true, Doc: "ServiceAccounts in the " + binding,
			Cell: subjects(rbacv1.ServiceAccountKind)},
	}
}

// names returns the names of the subjects of a kind.
func (g grant) names(kind string) string {
	var names []string
	for n := range g.subjects {
		switch subject := &g.subjects[n]; {
		case subject.Kind != kind:
		case kind == rbacv1.ServiceAccountKind:
			names = append(names, subject.Namespace+"/"+subject.Name)
		default:
			names = append(names, subject.Name)
		}
	}
	return strings.Join(names, ", ")
}
