package rbac

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// defaultRoleBinding sets the group of the role and of the subjects.
func defaultRoleBinding(obj runtime.Object) {
	binding := obj.(*rbacv1.RoleBinding)
	defaultRef(&binding.RoleRef)
	defaultSubjects(binding.Subjects)
}

// defaultClusterRoleBinding is defaultRoleBinding.
func defaultClusterRoleBinding(obj runtime.Object) {
	binding := obj.(*rbacv1.ClusterRoleBinding)
	defaultRef(&binding.RoleRef)
	defaultSubjects(binding.Subjects)
}

func defaultRef(ref *rbacv1.RoleRef) {
	if ref.APIGroup == "" {
		ref.APIGroup = rbacv1.GroupName
	}
}

// defaultSubjects sets the group of users and groups. Service accounts are in core/v1, whose group is empty.
func defaultSubjects(subjects []rbacv1.Subject) {
	for n := range subjects {
		subject := &subjects[n]
		if subject.APIGroup == "" && (subject.Kind == rbacv1.UserKind || subject.Kind == rbacv1.GroupKind) {
			subject.APIGroup = rbacv1.GroupName
		}
	}
}
