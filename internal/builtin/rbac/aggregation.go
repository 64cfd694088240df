package rbac

import (
	"cmp"
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// AggregatedRules returns the rules that an aggregated role has when these roles exist: those of the roles that its
// first selector matches, by name, then those of its second, without duplicates. The result shares memory with the
// roles.
func AggregatedRules(role *rbacv1.ClusterRole, all []*rbacv1.ClusterRole) ([]rbacv1.PolicyRule, error) {
	var rules []rbacv1.PolicyRule
	for n := range role.AggregationRule.ClusterRoleSelectors {
		selector, err := metav1.LabelSelectorAsSelector(&role.AggregationRule.ClusterRoleSelectors[n])
		if err != nil {
			return nil, fmt.Errorf("selector of aggregated ClusterRole %s: %w", role.Name, err)
		}
		rules = add(rules, role.Name, matching(selector, all))
	}
	return rules, nil
}

// matching returns the roles that a selector matches, by name.
func matching(selector labels.Selector, all []*rbacv1.ClusterRole) (selected []*rbacv1.ClusterRole) {
	for _, role := range all {
		if selector.Matches(labels.Set(role.Labels)) {
			selected = append(selected, role)
		}
	}
	slices.SortFunc(selected, func(a, b *rbacv1.ClusterRole) int { return cmp.Compare(a.Name, b.Name) })
	return selected
}

// add adds the rules of selected roles, but those that are there already, and those of the aggregated role itself.
func add(rules []rbacv1.PolicyRule, name string, selected []*rbacv1.ClusterRole) []rbacv1.PolicyRule {
	for _, role := range selected {
		if role.Name == name {
			continue
		}
		for _, rule := range role.Rules {
			if !slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool { return SameRule(r, rule) }) {
				rules = append(rules, rule)
			}
		}
	}
	return rules
}

// SameRule compares rules as equality.Semantic does, which costs much more: the default roles have hundreds of rules.
func SameRule(a, b rbacv1.PolicyRule) bool {
	return slices.Equal(a.Verbs, b.Verbs) && slices.Equal(a.APIGroups, b.APIGroups) &&
		slices.Equal(a.Resources, b.Resources) && slices.Equal(a.ResourceNames, b.ResourceNames) &&
		slices.Equal(a.NonResourceURLs, b.NonResourceURLs)
}
