package rbac

import (
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// A user with more groups or grants than these gets a merged set of rules.
const (
	fewGroups = 32
	fewGrants = 32
)

// identity is a user as bindings name it. The groups must not be modified.
type identity struct {
	name   string
	groups []string
}

func identify(u user.Info) *identity { return &identity{u.GetName(), u.GetGroups()} }

// decide returns the grant that allows a request: the one of the first ClusterRoleBinding by name, else of the first
// RoleBinding in the namespace. Upstream looks at bindings in no particular order. Without a grant, reason has the
// bindings to roles that do not exist.
func (s *state) decide(who *identity, a authorizer.Attributes) (allowed *grant, reason string) {
	everywhere, missing := s.permit(who, "", a)
	if everywhere != nil {
		return everywhere, ""
	}
	if namespace := a.GetNamespace(); namespace != "" {
		var also bool
		if allowed, also = s.permit(who, namespace, a); allowed != nil {
			return allowed, ""
		}
		missing = missing || also
	}
	if missing {
		reason = s.refusal(who, a.GetNamespace())
	}
	return nil, reason
}

// permit returns the first grant of a user in a namespace, or everywhere if that is empty, that allows a request.
// missing reports whether one of the grants is of a role that does not exist.
func (s *state) permit(who *identity, namespace string, a authorizer.Attributes) (allowed *grant, missing bool) {
	if len(who.groups) <= fewGroups {
		var space [fewGrants]grant
		if grants, fit := s.collect(space[:0], who, namespace); fit {
			return firstAllowing(grants, a)
		}
	}
	m := s.merged.of(s, who, namespace)
	if at := m.rules.find(a); at != nowhere {
		return &m.grants[at], false
	}
	return nil, m.missing
}

// firstAllowing returns the first of some grants, which are in no order, that allows a request.
func firstAllowing(grants []grant, a authorizer.Attributes) (allowed *grant, missing bool) {
	best := -1
	for n := range grants {
		role := grants[n].binding.slot.role.Load()
		switch {
		case role == nil:
			missing = true
		case best >= 0 && compareGrants(grants[best], grants[n]) <= 0:
		case role.set().find(a) != nowhere:
			best = n
		}
	}
	if best < 0 {
		return nil, missing
	}
	found := grants[best] // a copy, so that grants stay on the stack
	return &found, false
}

// refusal describes the roles that are missing, as upstream does.
func (s *state) refusal(who *identity, namespace string) string {
	_, errs := s.rulesFor(who, namespace)
	if len(errs) == 0 {
		return "" // a role was created meanwhile
	}
	return fmt.Sprintf("RBAC: %v", utilerrors.NewAggregate(errs))
}

// rulesFor returns the rules of a user in a namespace and everywhere, in order, and an error for each binding to a role
// that does not exist. The caller must not modify the rules.
func (s *state) rulesFor(who *identity, namespace string) (rules []rbacv1.PolicyRule, errs []error) {
	grants := s.all(who, "")
	if namespace != "" {
		grants = slices.Concat(grants, s.all(who, namespace))
	}
	for _, g := range grants {
		role := g.binding.slot.role.Load()
		if role == nil {
			errs = append(errs, g.binding.slot.missing())
			continue
		}
		rules = append(rules, role.rules...)
	}
	return rules, errs
}
