package rbac

import (
	"slices"
	"strconv"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
)

// binding is a stored RoleBinding or, without a namespace, a ClusterRoleBinding. It is immutable.
type binding struct {
	namespace, name string
	subjects        []rbacv1.Subject
	slot            *slot
}

// grant is a binding that names a subject: the one at a position in its list.
type grant struct {
	binding *binding
	subject int
}

// compareGrants orders grants of one namespace by the names of their bindings, then by the order of the subjects.
func compareGrants(a, b grant) int {
	if a.binding == b.binding {
		return a.subject - b.subject
	}
	return strings.Compare(a.binding.name, b.binding.name)
}

// reason says why a request is allowed, in upstream's words.
func (g grant) reason() string {
	b, s := g.binding, &g.binding.subjects[g.subject]
	kind, name := "ClusterRoleBinding", b.name
	if b.namespace != "" {
		kind, name = "RoleBinding", b.name+"/"+b.namespace
	}
	subject := s.Name
	if s.Kind == rbacv1.ServiceAccountKind {
		subject += "/" + b.accountNamespace(s)
	}
	text := make([]byte, 0, 192)
	text = append(append(text, "RBAC: allowed by "...), kind...)
	text = strconv.AppendQuote(append(text, ' '), name)
	text = append(append(text, " of "...), b.slot.key.kind...)
	text = strconv.AppendQuote(append(text, ' '), b.slot.key.name)
	text = append(append(text, " to "...), s.Kind...)
	return string(strconv.AppendQuote(append(text, ' '), subject))
}

// accountNamespace returns the namespace of a service account: that of the binding unless the subject names another.
func (b *binding) accountNamespace(s *rbacv1.Subject) string {
	if s.Namespace != "" {
		return s.Namespace
	}
	return b.namespace
}

// holder is a user or a group in a namespace, or in all of them if namespace is empty. Service accounts are users.
type holder struct {
	group           bool
	name, namespace string
}

// holders returns those that a binding names, with the first position of each. A subject that can be nobody, such as a
// service account without a namespace, is left out.
func (b *binding) holders() map[holder]int {
	holders := make(map[holder]int, len(b.subjects))
	for n := range b.subjects {
		s := &b.subjects[n]
		h := holder{name: s.Name, namespace: b.namespace}
		switch s.Kind {
		case rbacv1.UserKind:
		case rbacv1.GroupKind:
			h.group = true
		case rbacv1.ServiceAccountKind:
			namespace := b.accountNamespace(s)
			if namespace == "" {
				continue
			}
			h.name = serviceaccount.MakeUsername(namespace, s.Name)
		default:
			continue
		}
		if _, named := holders[h]; !named {
			holders[h] = n
		}
	}
	return holders
}

// withGrant returns a copy of sorted grants with another one.
func withGrant(grants []grant, g grant) []grant {
	at, _ := slices.BinarySearchFunc(grants, g, compareGrants)
	more := make([]grant, 0, len(grants)+1)
	return append(append(append(more, grants[:at]...), g), grants[at:]...)
}

// withoutGrant returns a copy of grants without those of a binding.
func withoutGrant(grants []grant, b *binding) []grant {
	fewer := make([]grant, 0, len(grants))
	for _, g := range grants {
		if g.binding != b {
			fewer = append(fewer, g)
		}
	}
	return fewer
}
