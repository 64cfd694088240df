package rbac

import (
	"context"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/rules"
)

// The kinds of roles that bindings refer to.
const (
	kindRole        = "Role"
	kindClusterRole = "ClusterRole"
)

// bindingRules are the rules of RoleBindings and ClusterRoleBindings.
type bindingRules struct {
	strategy
	grantOf func(binding runtime.Object) grant
}

// Validate checks the metadata, the reference to the role, and the subjects.
func (r bindingRules) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	g := r.grantOf(obj)
	errs := append(validateMetadata(g.meta, g.namespaced), g.validate()...)
	return append(errs, g.require()...)
}

// ValidateUpdate also checks that the reference does not change.
func (r bindingRules) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	g, before := r.grantOf(obj), r.grantOf(old)
	g.changed = g.role != before.role
	errs := append(validateMetadata(g.meta, g.namespaced), g.validate()...)
	errs = append(errs, resource.CheckMetadataUpdate(g.meta, before.meta)...)
	errs = append(errs, validateSameRole(g.role, before.role)...)
	return append(errs, g.require()...)
}

// validateSameRole checks that a reference does not change. Its error shows the reference as kube-apiserver does, which
// prints an internal type.
func validateSameRole(ref, before rbacv1.RoleRef) field.ErrorList {
	type internal struct{ APIGroup, Kind, Name string }
	return apivalidation.ValidateImmutableField(internal(ref), internal(before), field.NewPath("roleRef"))
}

// grant is what a binding says: the subjects have the role.
type grant struct {
	meta       *metav1.ObjectMeta
	namespaced bool
	role       rbacv1.RoleRef
	subjects   []rbacv1.Subject
	changed    bool // the role, by an update
}

func roleBindingGrant(obj runtime.Object) grant {
	binding := obj.(*rbacv1.RoleBinding)
	return grant{meta: &binding.ObjectMeta, namespaced: true, role: binding.RoleRef, subjects: binding.Subjects}
}

func clusterRoleBindingGrant(obj runtime.Object) grant {
	binding := obj.(*rbacv1.ClusterRoleBinding)
	return grant{meta: &binding.ObjectMeta, role: binding.RoleRef, subjects: binding.Subjects}
}

func (g grant) validate() (errs field.ErrorList) {
	path := field.NewPath("roleRef")
	errs = append(errs, validateGroup(g.role.APIGroup, rbacv1.GroupName, path)...)
	kinds := []string{kindClusterRole}
	if g.namespaced {
		kinds = []string{kindRole, kindClusterRole}
	}
	if !slices.Contains(kinds, g.role.Kind) {
		errs = append(errs, field.NotSupported(path.Child("kind"), g.role.Kind, kinds))
	}
	if g.role.Name == "" && g.changed {
		errs = append(errs, g.requireRole()...)
	} else if g.role.Name != "" {
		errs = append(errs, rules.Messages(path.Child("name"), g.role.Name, content.IsPathSegmentName(g.role.Name))...)
	}
	for n := range g.subjects {
		errs = append(errs, g.validateSubject(&g.subjects[n], field.NewPath("subjects").Index(n))...)
	}
	return errs
}

// require checks what the types declare to be required, after everything else as kube-apiserver does (KEP-5073). It
// does not check a role that an update changes, as that is refused already.
func (g grant) require() (errs field.ErrorList) {
	for n := range g.subjects {
		if g.subjects[n].Name == "" {
			errs = append(errs, field.Required(field.NewPath("subjects").Index(n).Child("name"), ""))
		}
	}
	if g.role.Name == "" && !g.changed {
		errs = append(errs, g.requireRole()...)
	}
	return errs
}

func (grant) requireRole() field.ErrorList {
	return field.ErrorList{field.Required(field.NewPath("roleRef", "name"), "")}
}

// subjectKinds are the kinds of subjects, in the order in which an error lists them.
var subjectKinds = []string{rbacv1.ServiceAccountKind, rbacv1.UserKind, rbacv1.GroupKind}

func (g grant) validateSubject(subject *rbacv1.Subject, path *field.Path) (errs field.ErrorList) {
	switch subject.Kind {
	case rbacv1.ServiceAccountKind:
		if subject.Name != "" {
			name := path.Child("name")
			errs = append(errs, rules.Messages(name, subject.Name,
				apivalidation.ValidateServiceAccountName(subject.Name, false))...)
		}
		errs = append(errs, validateGroup(subject.APIGroup, "", path)...)
		if !g.namespaced && subject.Namespace == "" {
			errs = append(errs, field.Required(path.Child("namespace"), ""))
		}
	case rbacv1.UserKind, rbacv1.GroupKind:
		errs = append(errs, validateGroup(subject.APIGroup, rbacv1.GroupName, path)...)
	default:
		errs = append(errs, field.NotSupported(path.Child("kind"), subject.Kind, subjectKinds))
	}
	return errs
}

func validateGroup(group, want string, path *field.Path) field.ErrorList {
	if group == want {
		return nil
	}
	return field.ErrorList{field.NotSupported(path.Child("apiGroup"), group, []string{want})}
}
