package rbac

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/rules"
)

// roleRules are the rules of Roles.
var roleRules = resource.Typed[*rbacv1.Role]{
	Prepare:       func(role *rbacv1.Role) { role.Rules = stored(role.Rules) },
	PrepareUpdate: func(role, _ *rbacv1.Role) { role.Rules = stored(role.Rules) },
	Check:         checkRole,
	CheckUpdate: func(role, old *rbacv1.Role) field.ErrorList {
		return append(checkRole(role), resource.CheckMetadataUpdate(&role.ObjectMeta, &old.ObjectMeta)...)
	},
	CreatesOnUpdate: true,
}

// clusterRoleRules are the rules of ClusterRoles.
var clusterRoleRules = resource.Typed[*rbacv1.ClusterRole]{
	Prepare:       func(role *rbacv1.ClusterRole) { role.Rules = stored(role.Rules) },
	PrepareUpdate: func(role, _ *rbacv1.ClusterRole) { role.Rules = stored(role.Rules) },
	Check:         checkClusterRole,
	CheckUpdate: func(role, old *rbacv1.ClusterRole) field.ErrorList {
		return append(checkClusterRole(role), resource.CheckMetadataUpdate(&role.ObjectMeta, &old.ObjectMeta)...)
	},
	CreatesOnUpdate: true,
}

// stored makes an empty list none, because kube-apiserver stores protobuf, which does not tell them apart.
func stored(policy []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	if len(policy) == 0 {
		return nil
	}
	return policy
}

// checkMetadata checks metadata. Names are segments of paths, so that they may have colons.
func checkMetadata(m *metav1.ObjectMeta, namespaced bool) field.ErrorList {
	name := func(name string, _ bool) []string { return content.IsPathSegmentName(name) }
	if namespaced {
		return resource.CheckMetadata(m, name)
	}
	return resource.CheckClusterMetadata(m, name)
}

func checkRole(role *rbacv1.Role) field.ErrorList {
	return append(checkMetadata(&role.ObjectMeta, true), checkPolicy(role.Rules, true)...)
}

func checkClusterRole(role *rbacv1.ClusterRole) field.ErrorList {
	errs := append(checkMetadata(&role.ObjectMeta, false), checkPolicy(role.Rules, false)...)
	if role.AggregationRule == nil {
		return errs
	}
	path := field.NewPath("aggregationRule", "clusterRoleSelectors")
	if len(role.AggregationRule.ClusterRoleSelectors) == 0 {
		errs = append(errs, field.Required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil"))
	}
	return append(errs, rules.Each(role.AggregationRule.ClusterRoleSelectors, path, checkSelector)...)
}

func checkSelector(selector *metav1.LabelSelector, path *field.Path) field.ErrorList {
	errs := metav1validation.ValidateLabelSelector(selector, metav1validation.LabelSelectorValidationOptions{}, path)
	if parsed, err := metav1.LabelSelectorAsSelector(selector); err != nil {
		errs = append(errs, field.Invalid(path, parsed, "invalid label selector."))
	}
	return errs
}

// checkPolicy checks that each rule has verbs, and is about resources or paths. Roles in a namespace have no paths.
func checkPolicy(policy []rbacv1.PolicyRule, namespaced bool) field.ErrorList {
	return rules.Each(policy, field.NewPath("rules"), func(rule *rbacv1.PolicyRule, path *field.Path) field.ErrorList {
		var errs field.ErrorList
		if len(rule.Verbs) == 0 {
			errs = append(errs, resource.Missing(path.Child("verbs")))
		}
		if urls := rule.NonResourceURLs; len(urls) > 0 {
			path := path.Child("nonResourceURLs")
			if namespaced {
				errs = append(errs, field.Invalid(path, urls, "namespaced rules cannot apply to non-resource URLs"))
			}
			if len(rule.APIGroups) > 0 || len(rule.Resources) > 0 || len(rule.ResourceNames) > 0 {
				errs = append(errs, field.Invalid(path, urls, "rules cannot apply to both regular resources and non-resource URLs"))
			}
			return errs
		}
		if len(rule.APIGroups) == 0 {
			errs = append(errs, field.Required(path.Child("apiGroups"), "resource rules must supply at least one api group"))
		}
		if len(rule.Resources) == 0 {
			errs = append(errs, field.Required(path.Child("resources"), "resource rules must supply at least one resource"))
		}
		return errs
	})
}
