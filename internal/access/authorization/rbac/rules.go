package rbac

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// maxTargets bounds what one rule is expanded to. A rule that names more combinations of groups, resources and names
// is compared as it is.
const maxTargets = 1024

// ruleSet is compiled rules. Each rule has a position, and the first one that allows a request counts. Once complete it
// is immutable.
type ruleSet struct {
	// resources are the permissions for whole resources, and named those for named objects. A group or resource may be
	// "*", and a resource "*/subresource".
	resources map[schema.GroupResource][]permission
	named     map[namedResource][]permission
	// anyGroup, anyResource, and anyWith say whether a group is "*", a resource is "*", and a resource begins with "*/".
	anyGroup, anyResource, anyWith bool
	// paths are the permissions for paths, and prefixes those for all paths that begin with a prefix.
	paths    map[string][]permission
	prefixes []prefixPermission
	// large are the rules that are not expanded, in order.
	large []largeRule
	// size is the number of permissions.
	size int
}

// namedResource is the objects of a name in a resource.
type namedResource struct {
	schema.GroupResource
	name string
}

// permission allows verbs.
type permission struct {
	verbs []string
	at    int // the position of the rule
}

type prefixPermission struct {
	prefix string
	permission
}

type largeRule struct {
	*rbacv1.PolicyRule
	at int
}

// nowhere is the position when no rule allows a request. It is after all others.
const nowhere = int(^uint(0) >> 1)

// add adds a rule. Positions must not decrease. The rule must not change afterwards.
func (s *ruleSet) add(rule *rbacv1.PolicyRule, at int) {
	if len(rule.APIGroups)*len(rule.Resources)*max(1, len(rule.ResourceNames)) > maxTargets {
		s.large = append(s.large, largeRule{rule, at})
		s.size++
	} else {
		s.addResources(rule, permission{rule.Verbs, at})
	}
	for _, path := range rule.NonResourceURLs {
		s.addPath(path, permission{rule.Verbs, at})
	}
}

func (s *ruleSet) addResources(rule *rbacv1.PolicyRule, p permission) {
	for _, group := range rule.APIGroups {
		s.anyGroup = s.anyGroup || group == rbacv1.APIGroupAll
		for _, name := range rule.Resources {
			s.anyResource = s.anyResource || name == rbacv1.ResourceAll
			s.anyWith = s.anyWith || strings.HasPrefix(name, "*/")
			resource := schema.GroupResource{Group: group, Resource: name}
			if len(rule.ResourceNames) == 0 {
				put(s, &s.resources, resource, p)
			}
			for _, object := range rule.ResourceNames {
				put(s, &s.named, namedResource{resource, object}, p)
			}
		}
	}
}

func (s *ruleSet) addPath(path string, p permission) {
	if !strings.HasSuffix(path, "*") {
		put(s, &s.paths, path, p)
		return
	}
	prefix := strings.TrimRight(path, "*")
	for _, earlier := range s.prefixes {
		if earlier.prefix == prefix && earlier.covers(p) {
			return
		}
	}
	s.prefixes = append(s.prefixes, prefixPermission{prefix, p})
	s.size++
}

// put adds a permission, unless an earlier one covers it.
func put[K comparable](s *ruleSet, to *map[K][]permission, key K, p permission) {
	if *to == nil {
		*to = map[K][]permission{}
	}
	all := (*to)[key]
	if !slices.ContainsFunc(all, func(earlier permission) bool { return earlier.covers(p) }) {
		(*to)[key] = append(all, p)
		s.size++
	}
}

// covers reports whether p allows every verb of other.
func (p permission) covers(other permission) bool {
	for _, verb := range other.verbs {
		if !p.allows(verb) {
			return false
		}
	}
	return true
}

func (p permission) allows(verb string) bool {
	for _, allowed := range p.verbs {
		if allowed == verb || allowed == rbacv1.VerbAll {
			return true
		}
	}
	return false
}

// first returns the first position among permissions for a verb, if it is before at; else at.
func first(permissions []permission, verb string, at int) int {
	for _, p := range permissions {
		if p.at >= at {
			return at
		}
		if p.allows(verb) {
			return p.at
		}
	}
	return at
}

// find returns the position of the first rule that allows a request, or nowhere.
func (s *ruleSet) find(a authorizer.Attributes) int {
	if !a.IsResourceRequest() {
		return s.findPath(a.GetVerb(), a.GetPath())
	}
	wanted := target{GroupResource: schema.GroupResource{Group: a.GetAPIGroup(), Resource: a.GetResource()},
		verb: a.GetVerb(), name: a.GetName(), subresource: a.GetSubresource()}
	if wanted.subresource != "" {
		wanted.Resource += "/" + wanted.subresource
	}
	at := s.findResources(&wanted)
	for _, rule := range s.large {
		if rule.at < at && rule.allows(&wanted) {
			at = rule.at
		}
	}
	return at
}

func (s *ruleSet) findPath(verb, path string) int {
	at := first(s.paths[path], verb, nowhere)
	for _, p := range s.prefixes {
		if p.at < at && strings.HasPrefix(path, p.prefix) && p.allows(verb) {
			at = p.at
		}
	}
	return at
}

// target is what a request is for. The resource includes the subresource.
type target struct {
	schema.GroupResource
	verb, name, subresource string
}

// findResources looks up the resource, and the wildcards that stand for it.
func (s *ruleSet) findResources(t *target) int {
	at := s.look(t, t.GroupResource, nowhere)
	if s.anyResource {
		at = s.look(t, schema.GroupResource{Group: t.Group, Resource: rbacv1.ResourceAll}, at)
	}
	with := s.anyWith && t.subresource != ""
	if with {
		at = s.look(t, schema.GroupResource{Group: t.Group, Resource: "*/" + t.subresource}, at)
	}
	if !s.anyGroup {
		return at
	}
	at = s.look(t, schema.GroupResource{Group: rbacv1.APIGroupAll, Resource: t.Resource}, at)
	if s.anyResource {
		at = s.look(t, schema.GroupResource{Group: rbacv1.APIGroupAll, Resource: rbacv1.ResourceAll}, at)
	}
	if with {
		at = s.look(t, schema.GroupResource{Group: rbacv1.APIGroupAll, Resource: "*/" + t.subresource}, at)
	}
	return at
}

func (s *ruleSet) look(t *target, resource schema.GroupResource, at int) int {
	at = first(s.resources[resource], t.verb, at)
	if len(s.named) > 0 {
		at = first(s.named[namedResource{resource, t.name}], t.verb, at)
	}
	return at
}

// allows compares a rule as it is.
func (r largeRule) allows(t *target) bool {
	return permission{verbs: r.Verbs}.allows(t.verb) && has(r.APIGroups, t.Group) &&
		(has(r.Resources, t.Resource) || t.subresource != "" && slices.Contains(r.Resources, "*/"+t.subresource)) &&
		(len(r.ResourceNames) == 0 || slices.Contains(r.ResourceNames, t.name))
}

// has reports whether a list has a value or "*".
func has(list []string, value string) bool {
	return slices.Contains(list, value) || slices.Contains(list, "*")
}
