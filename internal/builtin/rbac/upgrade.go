package rbac

import (
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	rbacv1alpha1 "k8s.io/api/rbac/v1alpha1"
	rbacv1beta1 "k8s.io/api/rbac/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// Upgrade returns a role or a binding of any version in v1.
func Upgrade(old runtime.Object) (obj runtime.Object, err error) {
	switch old.(type) {
	case *rbacv1.ClusterRole, *rbacv1alpha1.ClusterRole, *rbacv1beta1.ClusterRole:
		return resource.As(old, &rbacv1.ClusterRole{})
	case *rbacv1.Role, *rbacv1alpha1.Role, *rbacv1beta1.Role:
		return resource.As(old, &rbacv1.Role{})
	case *rbacv1.ClusterRoleBinding, *rbacv1alpha1.ClusterRoleBinding, *rbacv1beta1.ClusterRoleBinding:
		obj, err = resource.As(old, &rbacv1.ClusterRoleBinding{})
	case *rbacv1.RoleBinding, *rbacv1alpha1.RoleBinding, *rbacv1beta1.RoleBinding:
		obj, err = resource.As(old, &rbacv1.RoleBinding{})
	default:
		return nil, fmt.Errorf("%T is no role or binding", old)
	}
	if err != nil {
		return nil, err
	}
	return obj, upgradeBinding(old, obj)
}

// upgradeBinding completes a binding of v1alpha1.
func upgradeBinding(old, obj runtime.Object) error {
	switch old := old.(type) {
	case *rbacv1alpha1.ClusterRoleBinding:
		obj.(*rbacv1.ClusterRoleBinding).Subjects = upgradeSubjects(old.Subjects)
	case *rbacv1alpha1.RoleBinding:
		obj.(*rbacv1.RoleBinding).Subjects = upgradeSubjects(old.Subjects)
	}
	return nil
}

// upgradeSubjects returns subjects of v1alpha1, which have the version of an object instead of its group. There the
// user "*" is every authenticated user.
func upgradeSubjects(old []rbacv1alpha1.Subject) []rbacv1.Subject {
	var subjects []rbacv1.Subject
	for _, s := range old {
		subject := rbacv1.Subject{Kind: s.Kind, Name: s.Name, Namespace: s.Namespace}
		switch s.Kind {
		case rbacv1.ServiceAccountKind:
		case rbacv1.UserKind, rbacv1.GroupKind:
			subject.APIGroup = rbacv1.GroupName
		default:
			if gv, err := schema.ParseGroupVersion(s.APIVersion); err == nil {
				subject.APIGroup = gv.Group
			}
		}
		if subject.Kind == rbacv1.UserKind && subject.Name == "*" {
			subject.Kind, subject.Name = rbacv1.GroupKind, user.AllAuthenticated
		}
		subjects = append(subjects, subject)
	}
	return subjects
}
