package rbac

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	namespaces = 12
	accounts   = 5 // in each namespace
)

// world makes random roles, bindings and requests. The same seed makes the same ones.
type world struct {
	*rand.Rand
	// size is the number of roles, and of bindings. Half of them are in namespaces.
	size int
	// rules are those of the newest version of each role, and bindings the newest versions, by number.
	rules    map[int][]rbacv1.PolicyRule
	bindings map[int]object
}

func newWorld(seed uint64, size int) world {
	return world{rand.New(rand.NewPCG(seed, 1)), size, map[int][]rbacv1.PolicyRule{}, map[int]object{}}
}

// one returns one of some values; the first of them are the usual ones.
func one[T any](w world, values ...T) T { return values[min(w.IntN(len(values)), w.IntN(len(values)))] }

// some returns up to three of some values.
func some[T any](w world, values ...T) []T {
	chosen := make([]T, 1+min(w.IntN(3), w.IntN(3)))
	for n := range chosen {
		chosen[n] = one(w, values...)
	}
	return chosen
}

func (w world) verb() string {
	return one(w, "get", "list", "create", "delete", "watch", "update", "patch", "deletecollection", "bind", "escalate",
		"impersonate", "use", "Get", "*")
}

func (w world) group() string {
	return one(w, "", "stable.example.com", "apps", rbacv1.GroupName, "events.k8s.io", "*")
}

func (w world) resource() string {
	return one(w, "configmaps", "secrets", "crontabs", "pods", "crontabs/status", "pods/log", "serviceaccounts/token",
		"roles", "deployments/scale", "*/status", "namespaces", "users", "pods/*", "*/*", "*")
}

func (w world) object() string { return one(w, "a", "b", "c", "d", "*") }

func (w world) path() string {
	return one(w, "/healthz", "/metrics", "/a/b", "/healthz/*", "/a/*", "/apis/stable.example.com", "/a/b/", "/a*",
		"/a/*/b", "/", "*")
}

func (w world) namespace() string { return fmt.Sprintf("n%d", w.IntN(namespaces)) }
func (w world) account() string   { return fmt.Sprintf("robot%d", w.IntN(accounts)) }
func (w world) user() string      { return fmt.Sprintf("user%d", w.IntN(1+w.size/8)) }
func (w world) team() string      { return fmt.Sprintf("team%d", w.IntN(1+w.size/8)) }

func (w world) newRules(paths bool) []rbacv1.PolicyRule {
	rules := make([]rbacv1.PolicyRule, w.IntN(4))
	for n := range rules {
		r := rbacv1.PolicyRule{Verbs: some(w, w.verb(), w.verb(), w.verb())}
		if paths && w.IntN(3) == 0 {
			r.NonResourceURLs = some(w, w.path(), w.path(), w.path())
		} else {
			r.APIGroups = some(w, w.group(), w.group(), w.group())
			r.Resources = some(w, w.resource(), w.resource(), w.resource())
			if w.IntN(3) == 0 {
				r.ResourceNames = some(w, w.object(), w.object(), w.object())
			}
		}
		rules[n] = r
	}
	return rules
}

// role returns the Role or ClusterRole of a number.
func (w world) role(number int) object {
	meta, rules := metav1.ObjectMeta{Name: fmt.Sprintf("role%d", number)}, w.newRules(number%2 == 0)
	w.rules[number] = rules
	if number%2 == 0 {
		return object{clusterRole: &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules}}
	}
	meta.Namespace = fmt.Sprintf("n%d", number/2%namespaces)
	return object{role: &rbacv1.Role{ObjectMeta: meta, Rules: rules}}
}

// binding returns the RoleBinding or ClusterRoleBinding of a number. Bindings cannot change their roles, so the role
// depends on the number alone.
func (w world) binding(number int) object {
	meta := metav1.ObjectMeta{Name: fmt.Sprintf("binding%d", number)}
	role := w.roleOf(number)
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: fmt.Sprintf("role%d", role)}
	if role%2 == 1 {
		ref.Kind = "Role"
	}
	var made object
	if number%2 == 0 {
		made.clusterBinding = &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: w.subjects()}
	} else {
		meta.Namespace = fmt.Sprintf("n%d", role/2%namespaces)
		made.binding = &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: w.subjects()}
	}
	w.bindings[number] = made
	return made
}

// roleOf returns the number of the role of a binding. One of eleven does not exist. An even one is a ClusterRole; half
// of the RoleBindings refer to those.
func (w world) roleOf(binding int) int {
	role := binding * 7 % (w.size + w.size/10)
	if binding%4 == 3 {
		return role | 1
	}
	return role &^ 1
}

func (w world) subjects() []rbacv1.Subject {
	subjects := make([]rbacv1.Subject, w.IntN(4))
	for n := range subjects {
		switch w.IntN(3) {
		case 0:
			subjects[n] = rbacv1.Subject{Kind: "User", APIGroup: rbacv1.GroupName, Name: w.user()}
			if w.IntN(10) == 0 {
				subjects[n].Name = w.accountName()
			}
		case 1:
			subjects[n] = rbacv1.Subject{Kind: "Group", APIGroup: rbacv1.GroupName, Name: w.team()}
			if w.IntN(50) == 0 {
				subjects[n].Name = "system:serviceaccounts:" + w.namespace()
			}
		case 2:
			subjects[n] = rbacv1.Subject{Kind: "ServiceAccount", Namespace: w.namespace(), Name: w.account()}
		}
	}
	if len(subjects) > 0 && w.IntN(5) == 0 {
		subjects = append(subjects, subjects[0]) // a subject may be there twice
	}
	return subjects
}

func (w world) accountName() string {
	return "system:serviceaccount:" + w.namespace() + ":" + w.account()
}

// identity is a user with groups.
type identity struct {
	name   string
	groups []string
}

func (w world) identity() identity {
	if w.IntN(4) == 0 {
		name := w.accountName()
		namespace := strings.Split(name, ":")[2]
		groups := []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"}
		return identity{name, groups}
	}
	who := identity{name: w.user()}
	for range w.IntN(4) {
		who.groups = append(who.groups, w.team())
	}
	return who
}

// request returns a question about a resource or about a path. Half of them are about what a binding allows.
func (w world) request() authorizationv1.SubjectAccessReviewSpec {
	if aimed, found := w.aimed(); found {
		return aimed
	}
	who := w.identity()
	spec := authorizationv1.SubjectAccessReviewSpec{User: who.name, Groups: who.groups, UID: "1"}
	if w.IntN(5) == 0 {
		spec.NonResourceAttributes = w.pathLike(w.path(), w.verb())
	} else {
		spec.ResourceAttributes = w.resourceLike(w.group(), w.resource(), w.verb())
		spec.ResourceAttributes.Namespace = one(w, w.namespace(), w.namespace(), "")
	}
	return spec
}

func (w world) pathLike(path, verb string) *authorizationv1.NonResourceAttributes {
	return &authorizationv1.NonResourceAttributes{Verb: verb, Path: strings.ReplaceAll(path, "*", one(w, "", "x", "x/b"))}
}

func (w world) resourceLike(group, resource, verb string) *authorizationv1.ResourceAttributes {
	resource, subresource, _ := strings.Cut(resource, "/")
	return &authorizationv1.ResourceAttributes{
		Verb: verb, Group: group, Version: "v1", Resource: resource, Subresource: subresource,
		Name: one(w, "", "a", "b", "e"),
	}
}

// aimed returns a request by a subject of a binding for what is in a rule of its role.
func (w world) aimed() (spec authorizationv1.SubjectAccessReviewSpec, found bool) {
	number := w.IntN(w.size)
	rules, bound := w.rules[w.roleOf(number)], w.bindings[number]
	namespace, subjects := w.namespace(), []rbacv1.Subject(nil)
	if bound.binding != nil {
		namespace, subjects = bound.binding.Namespace, bound.binding.Subjects
	} else if bound.clusterBinding != nil {
		subjects = bound.clusterBinding.Subjects
	}
	if w.IntN(2) == 0 || len(rules) == 0 || len(subjects) == 0 {
		return spec, false
	}
	who, rule := w.identity(), one(w, rules...)
	switch s := one(w, subjects...); s.Kind {
	case "User":
		who.name = s.Name
	case "Group":
		who.groups = append(who.groups, s.Name)
	default:
		who = identity{name: "system:serviceaccount:" + s.Namespace + ":" + s.Name}
	}
	spec = authorizationv1.SubjectAccessReviewSpec{User: who.name, Groups: who.groups}
	if len(rule.NonResourceURLs) > 0 {
		spec.NonResourceAttributes = w.pathLike(one(w, rule.NonResourceURLs...), one(w, rule.Verbs...))
		return spec, true
	}
	spec.ResourceAttributes = w.resourceLike(one(w, rule.APIGroups...), one(w, rule.Resources...), one(w, rule.Verbs...))
	spec.ResourceAttributes.Namespace = namespace
	return spec, true
}

// object is one of the four kinds. The others are nil.
type object struct {
	role           *rbacv1.Role
	clusterRole    *rbacv1.ClusterRole
	binding        *rbacv1.RoleBinding
	clusterBinding *rbacv1.ClusterRoleBinding
}

// objects returns a role and a binding of each number, in random order.
func (w world) objects() []object {
	var all []object
	for n := range w.size {
		all = append(all, w.role(n), w.binding(n))
	}
	w.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return slices.Clip(all)
}
