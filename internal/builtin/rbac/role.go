package rbac

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// strategy has what the rules of all kinds of the group have in common.
type strategy struct{ resource.Rules }

// AllowCreateOnUpdate returns true.
func (strategy) AllowCreateOnUpdate(context.Context) bool { return true }

// validateMetadata checks metadata. Names are segments of paths, so that they may have colons.
func validateMetadata(m *metav1.ObjectMeta, namespaced bool) field.ErrorList {
	name := func(name string, _ bool) []string { return content.IsPathSegmentName(name) }
	if namespaced {
		return resource.CheckMetadata(m, name)
	}
	return resource.CheckClusterMetadata(m, name)
}

// roleRules are the rules of Roles.
type roleRules struct{ strategy }

// Validate checks the metadata and the rules.
func (roleRules) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	role := obj.(*rbacv1.Role)
	errs := append(validateMetadata(&role.ObjectMeta, true), validatePolicyRules(role.Rules, true)...)
	return append(errs, requireVerbs(role.Rules)...)
}

// ValidateUpdate checks the new object, and that its metadata may change.
func (r roleRules) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	role := obj.(*rbacv1.Role)
	errs := append(validateMetadata(&role.ObjectMeta, true), validatePolicyRules(role.Rules, true)...)
	errs = append(errs, resource.CheckMetadataUpdate(&role.ObjectMeta, &old.(*rbacv1.Role).ObjectMeta)...)
	return append(errs, requireVerbs(role.Rules)...)
}

// Canonicalize makes an empty list of rules none, because kube-apiserver stores protobuf, which does not tell them
// apart.
func (roleRules) Canonicalize(obj runtime.Object) {
	if role := obj.(*rbacv1.Role); len(role.Rules) == 0 {
		role.Rules = nil
	}
}

// clusterRoleRules are the rules of ClusterRoles.
type clusterRoleRules struct{ strategy }

// Validate checks the metadata, the rules, and which roles are aggregated.
func (clusterRoleRules) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	role := obj.(*rbacv1.ClusterRole)
	return append(validateClusterRole(role), requireVerbs(role.Rules)...)
}

// ValidateUpdate checks the new object, and that its metadata may change.
func (clusterRoleRules) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	role := obj.(*rbacv1.ClusterRole)
	errs := validateClusterRole(role)
	errs = append(errs, resource.CheckMetadataUpdate(&role.ObjectMeta, &old.(*rbacv1.ClusterRole).ObjectMeta)...)
	return append(errs, requireVerbs(role.Rules)...)
}

// Canonicalize makes an empty list of rules none, as that of Roles does.
func (clusterRoleRules) Canonicalize(obj runtime.Object) {
	if role := obj.(*rbacv1.ClusterRole); len(role.Rules) == 0 {
		role.Rules = nil
	}
}

func validateClusterRole(role *rbacv1.ClusterRole) field.ErrorList {
	errs := append(validateMetadata(&role.ObjectMeta, false), validatePolicyRules(role.Rules, false)...)
	if role.AggregationRule == nil {
		return errs
	}
	path := field.NewPath("aggregationRule", "clusterRoleSelectors")
	if len(role.AggregationRule.ClusterRoleSelectors) == 0 {
		errs = append(errs, field.Required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil"))
	}
	strict := metav1validation.LabelSelectorValidationOptions{}
	for n := range role.AggregationRule.ClusterRoleSelectors {
		selector, path := &role.AggregationRule.ClusterRoleSelectors[n], path.Index(n)
		errs = append(errs, metav1validation.ValidateLabelSelector(selector, strict, path)...)
		if parsed, err := metav1.LabelSelectorAsSelector(selector); err != nil {
			errs = append(errs, field.Invalid(path, parsed, "invalid label selector."))
		}
	}
	return errs
}

var rulesPath = field.NewPath("rules")

// validatePolicyRules checks that each rule is about resources or paths. Roles in a namespace have no paths.
func validatePolicyRules(policy []rbacv1.PolicyRule, namespaced bool) (errs field.ErrorList) {
	for n := range policy {
		rule, path := &policy[n], rulesPath.Index(n)
		if urls := rule.NonResourceURLs; len(urls) > 0 {
			path := path.Child("nonResourceURLs")
			if namespaced {
				errs = append(errs, field.Invalid(path, urls, "namespaced rules cannot apply to non-resource URLs"))
			}
			if len(rule.APIGroups) > 0 || len(rule.Resources) > 0 || len(rule.ResourceNames) > 0 {
				errs = append(errs, field.Invalid(path, urls, "rules cannot apply to both regular resources and non-resource URLs"))
			}
			continue
		}
		if len(rule.APIGroups) == 0 {
			errs = append(errs, field.Required(path.Child("apiGroups"), "resource rules must supply at least one api group"))
		}
		if len(rule.Resources) == 0 {
			errs = append(errs, field.Required(path.Child("resources"), "resource rules must supply at least one resource"))
		}
	}
	return errs
}

// requireVerbs checks that each rule has verbs. kube-apiserver checks what its types declare to be required after
// everything else (KEP-5073).
func requireVerbs(policy []rbacv1.PolicyRule) (errs field.ErrorList) {
	for n := range policy {
		if len(policy[n].Verbs) == 0 {
			errs = append(errs, field.Required(rulesPath.Index(n).Child("verbs"), ""))
		}
	}
	return errs
}
