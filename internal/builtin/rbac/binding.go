package rbac

import (
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

// bindingRules returns the rules of RoleBindings or ClusterRoleBindings.
func bindingRules[T runtime.Object]() resource.Strategy {
	return resource.Typed[T]{
		Check: func(binding T) field.ErrorList {
			g := grantOf(binding)
			return append(checkMetadata(g.meta, g.namespaced), g.check(false)...)
		},
		CheckUpdate: func(binding, old T) field.ErrorList {
			g, before := grantOf(binding), grantOf(old)
			errs := append(checkMetadata(g.meta, g.namespaced), g.check(*g.role != *before.role)...)
			errs = append(errs, resource.CheckMetadataUpdate(g.meta, before.meta)...)
			return append(errs, checkSameRole(*g.role, *before.role)...)
		},
		CreatesOnUpdate: true,
	}
}

// checkSameRole checks that a reference does not change. Its error shows the reference as kube-apiserver does, which
// prints an internal type.
func checkSameRole(ref, before rbacv1.RoleRef) field.ErrorList {
	type internal struct{ APIGroup, Kind, Name string }
	return apivalidation.ValidateImmutableField(internal(ref), internal(before), field.NewPath("roleRef"))
}

// grant is what a binding says: the subjects have the role. It refers to the fields of the binding.
type grant struct {
	meta       *metav1.ObjectMeta
	namespaced bool
	role       *rbacv1.RoleRef
	subjects   []rbacv1.Subject
}

func grantOf(binding runtime.Object) grant {
	if b, ok := binding.(*rbacv1.RoleBinding); ok {
		return grant{meta: &b.ObjectMeta, namespaced: true, role: &b.RoleRef, subjects: b.Subjects}
	}
	b := binding.(*rbacv1.ClusterRoleBinding)
	return grant{meta: &b.ObjectMeta, role: &b.RoleRef, subjects: b.Subjects}
}

// setGroups is the default of the groups of the role and of the subjects. Service accounts are in core/v1, whose group
// is empty.
func setGroups(binding runtime.Object) {
	g := grantOf(binding)
	if g.role.APIGroup == "" {
		g.role.APIGroup = rbacv1.GroupName
	}
	for n := range g.subjects {
		subject := &g.subjects[n]
		if subject.APIGroup == "" && (subject.Kind == rbacv1.UserKind || subject.Kind == rbacv1.GroupKind) {
			subject.APIGroup = rbacv1.GroupName
		}
	}
}

// check checks the reference to the role, and the subjects. changed says that an update changes the role. That is
// refused anyway, so kube-apiserver does not apply the rule that is declared for the name.
func (g grant) check(changed bool) field.ErrorList {
	path := field.NewPath("roleRef")
	errs := checkGroup(g.role.APIGroup, rbacv1.GroupName, path)
	kinds := []string{kindClusterRole}
	if g.namespaced {
		kinds = []string{kindRole, kindClusterRole}
	}
	if !slices.Contains(kinds, g.role.Kind) {
		errs = append(errs, field.NotSupported(path.Child("kind"), g.role.Kind, kinds))
	}
	path = path.Child("name")
	if g.role.Name == "" && changed {
		errs = append(errs, field.Required(path, ""))
	} else if g.role.Name != "" {
		errs = append(errs, rules.Messages(path, g.role.Name, content.IsPathSegmentName(g.role.Name))...)
	}
	errs = append(errs, rules.Each(g.subjects, field.NewPath("subjects"), g.checkSubject)...)
	if g.role.Name == "" && !changed {
		errs = append(errs, resource.Missing(path))
	}
	return errs
}

// subjectKinds are the kinds of subjects, in the order in which an error lists them.
var subjectKinds = []string{rbacv1.ServiceAccountKind, rbacv1.UserKind, rbacv1.GroupKind}

func (g grant) checkSubject(subject *rbacv1.Subject, path *field.Path) (errs field.ErrorList) {
	name := path.Child("name")
	if subject.Name == "" {
		errs = append(errs, resource.Missing(name))
	}
	switch subject.Kind {
	case rbacv1.ServiceAccountKind:
		if subject.Name != "" {
			errs = append(errs, rules.Messages(name, subject.Name,
				apivalidation.ValidateServiceAccountName(subject.Name, false))...)
		}
		errs = append(errs, checkGroup(subject.APIGroup, "", path)...)
		if !g.namespaced && subject.Namespace == "" {
			errs = append(errs, field.Required(path.Child("namespace"), ""))
		}
	case rbacv1.UserKind, rbacv1.GroupKind:
		errs = append(errs, checkGroup(subject.APIGroup, rbacv1.GroupName, path)...)
	default:
		errs = append(errs, field.NotSupported(path.Child("kind"), subject.Kind, subjectKinds))
	}
	return errs
}

func checkGroup(group, want string, path *field.Path) field.ErrorList {
	if group == want {
		return nil
	}
	return field.ErrorList{field.NotSupported(path.Child("apiGroup"), group, []string{want})}
}
