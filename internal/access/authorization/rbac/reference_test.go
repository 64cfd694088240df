package rbac

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/component-helpers/auth/rbac/validation"
)

// stored are objects by their keys in etcd.
type stored map[string]runtime.Object

// keyOfObject returns the key of an object.
func keyOfObject(obj runtime.Object) string {
	folder := map[string]string{
		"*v1.Role": "roles", "*v1.ClusterRole": "clusterroles", "*v1.RoleBinding": "rolebindings",
		"*v1.ClusterRoleBinding": "clusterrolebindings",
	}[fmt.Sprintf("%T", obj)]
	m := obj.(metav1.Object)
	if m.GetNamespace() != "" {
		folder += "/" + m.GetNamespace()
	}
	return folder + "/" + m.GetName()
}

// reference decides by looking at all objects, as upstream's documentation describes RBAC. The bindings are looked at
// in the order of their names.
func (objects stored) reference(a authorizer.Attributes) (allowed bool, reason string) {
	var missing []string
	scopes := []string{"clusterrolebindings/"}
	if a.GetNamespace() != "" {
		scopes = append(scopes, "rolebindings/"+a.GetNamespace()+"/")
	}
	for _, scope := range scopes {
		for _, key := range slices.Sorted(maps.Keys(objects)) {
			if !strings.HasPrefix(key, scope) {
				continue
			}
			b := bindingOf(objects[key])
			subject := slices.IndexFunc(b.subjects, func(s rbacv1.Subject) bool { return names(s, a.GetUser(), b.namespace) })
			if subject < 0 {
				continue
			}
			rules, found := objects.rules(b)
			if !found {
				missing = append(missing, fmt.Sprintf("%s.rbac.authorization.k8s.io %q not found", strings.ToLower(b.ref.Kind),
					b.ref.Name))
				continue
			}
			// A request is allowed if the rules cover the rule that allows nothing but the request.
			if covered, _ := validation.Covers(rules, []rbacv1.PolicyRule{asRule(a)}); covered {
				return true, "RBAC: allowed by " + b.describe(subject)
			}
		}
	}
	return false, joined(missing)
}

// joined returns the reason of a refusal. A message that repeats appears once.
func joined(missing []string) string {
	var once []string
	for _, message := range missing {
		if !slices.Contains(once, message) {
			once = append(once, message)
		}
	}
	switch len(once) {
	case 0:
		return ""
	case 1:
		return "RBAC: " + once[0]
	}
	return "RBAC: [" + strings.Join(once, ", ") + "]"
}

// anyBinding is a RoleBinding or a ClusterRoleBinding.
type anyBinding struct {
	kind, namespace, name string
	ref                   rbacv1.RoleRef
	subjects              []rbacv1.Subject
}

func bindingOf(obj runtime.Object) anyBinding {
	switch b := obj.(type) {
	case *rbacv1.RoleBinding:
		return anyBinding{"RoleBinding", b.Namespace, b.Name, b.RoleRef, b.Subjects}
	case *rbacv1.ClusterRoleBinding:
		return anyBinding{"ClusterRoleBinding", "", b.Name, b.RoleRef, b.Subjects}
	}
	return anyBinding{}
}

// describe names a binding and one of its subjects as upstream does.
func (b anyBinding) describe(subject int) string {
	s, name := b.subjects[subject], b.name
	if b.namespace != "" {
		name += "/" + b.namespace
	}
	who := s.Name
	if s.Kind == "ServiceAccount" && s.Namespace != "" {
		who += "/" + s.Namespace
	} else if s.Kind == "ServiceAccount" {
		who += "/" + b.namespace
	}
	return fmt.Sprintf("%s %q of %s %q to %s %q", b.kind, name, b.ref.Kind, b.ref.Name, s.Kind, who)
}

// rules returns the rules of the role of a binding.
func (objects stored) rules(b anyBinding) ([]rbacv1.PolicyRule, bool) {
	if b.ref.Kind == "Role" {
		role, found := objects["roles/"+b.namespace+"/"+b.ref.Name].(*rbacv1.Role)
		if !found {
			return nil, false
		}
		return role.Rules, true
	}
	role, found := objects["clusterroles/"+b.ref.Name].(*rbacv1.ClusterRole)
	if !found {
		return nil, false
	}
	return role.Rules, true
}

// names reports whether a subject of a binding in a namespace is a user.
func names(s rbacv1.Subject, u user.Info, namespace string) bool {
	switch s.Kind {
	case "User":
		return s.Name == u.GetName()
	case "Group":
		return slices.Contains(u.GetGroups(), s.Name)
	case "ServiceAccount":
		if s.Namespace != "" {
			namespace = s.Namespace
		}
		return namespace != "" && serviceaccount.MakeUsername(namespace, s.Name) == u.GetName()
	}
	return false
}

// asRule returns the rule that allows exactly a request.
func asRule(a authorizer.Attributes) rbacv1.PolicyRule {
	if !a.IsResourceRequest() {
		return rbacv1.PolicyRule{Verbs: []string{a.GetVerb()}, NonResourceURLs: []string{a.GetPath()}}
	}
	resource := a.GetResource()
	if a.GetSubresource() != "" {
		resource += "/" + a.GetSubresource()
	}
	return rbacv1.PolicyRule{
		Verbs: []string{a.GetVerb()}, APIGroups: []string{a.GetAPIGroup()}, Resources: []string{resource},
		ResourceNames: []string{a.GetName()},
	}
}
