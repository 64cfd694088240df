package escalation

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/component-helpers/auth/rbac/validation"
)

// maxPermissions bounds the permissions of a role that are compared one by one: combinations of a group, a resource, a
// name and a verb. The largest roles of Kubernetes have some hundred.
const maxPermissions = 100_000

// confirm returns an error unless the user of a write has all permissions that rules give.
func (c Check) confirm(w *write, granted []rbacv1.PolicyRule) error {
	if countPermissions(granted) > maxPermissions {
		return fmt.Errorf("user %q (groups=%q) is attempting to grant more than %d RBAC permissions, "+
			"which needs the verb escalate or bind", w.user.GetName(), w.user.GetGroups(), maxPermissions)
	}
	held, resolving := c.Rules.RulesFor(w, w.user, request.NamespaceValue(w))
	covered, missing := validation.Covers(held, granted)
	if covered {
		return nil
	}
	message := fmt.Sprintf("user %q (groups=%q) is attempting to grant RBAC permissions not currently held:\n%s",
		w.user.GetName(), w.user.GetGroups(), strings.Join(describe(missing), "\n"))
	if resolving != nil {
		message += fmt.Sprintf("; resolution errors: %v", []error{resolving})
	}
	return errors.New(message)
}

// countPermissions returns how many permissions rules give, or more than maxPermissions if there are too many.
func countPermissions(granted []rbacv1.PolicyRule) int {
	total := 0
	for n := range granted {
		rule := &granted[n]
		count := len(rule.NonResourceURLs) * len(rule.Verbs)
		each := len(rule.Verbs)
		for _, some := range []int{len(rule.APIGroups), len(rule.Resources), max(len(rule.ResourceNames), 1)} {
			each = min(each*some, maxPermissions+1) // a list is far shorter than an int
		}
		if total += count + each; total > maxPermissions {
			return total
		}
	}
	return total
}

// target is what a permission is about.
type target struct {
	group, resource, name string
	named                 bool // else it is about all names
}

// describe returns the text of permissions, sorted. Those that differ in their verbs only are one.
func describe(permissions []rbacv1.PolicyRule) []string {
	var texts []string
	verbs := map[target][]string{}
	for n := range permissions {
		p := &permissions[n]
		if len(p.NonResourceURLs) > 0 {
			texts = append(texts, compact(p))
			continue
		}
		of := target{group: p.APIGroups[0], resource: p.Resources[0], named: len(p.ResourceNames) > 0}
		if of.named {
			of.name = p.ResourceNames[0]
		}
		verbs[of] = append(verbs[of], p.Verbs...)
	}
	for of, verbs := range verbs {
		rule := rbacv1.PolicyRule{APIGroups: []string{of.group}, Resources: []string{of.resource}, Verbs: verbs}
		if of.named {
			rule.ResourceNames = []string{of.name}
		}
		texts = append(texts, compact(&rule))
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}

// compact returns a rule in the words of kube-apiserver.
func compact(rule *rbacv1.PolicyRule) string {
	var parts []string
	for _, part := range []struct {
		name   string
		values []string
	}{
		{"APIGroups", rule.APIGroups}, {"Resources", rule.Resources}, {"NonResourceURLs", rule.NonResourceURLs},
		{"ResourceNames", rule.ResourceNames}, {"Verbs", rule.Verbs},
	} {
		if len(part.values) > 0 {
			parts = append(parts, fmt.Sprintf("%s:%q", part.name, part.values))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
