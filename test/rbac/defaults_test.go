package rbac

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ofOthers matches the default roles and bindings of kube-apiserver that our server does not have: those of nodes,
// pods, the scheduler, volumes and certificate signing requests, of the controllers for them, and of components that
// find their leader or the authority of front proxies in objects in kube-system and kube-public.
var ofOthers = regexp.MustCompile(`^system:(node.*|kube-(controller-manager|dns|scheduler|aggregator)|heapster|` +
	`persistent-volume-provisioner|volume-scheduler|certificates.k8s.io:.*|cluster-trust-bundle-discovery|` +
	`kubelet-api-admin|controller:.*)$|^kube-(system|public)/`)

// TestDifferentialDefaults compares the default roles and bindings, and what each role allows: every verb on all that
// one of the two servers has.
func TestDifferentialDefaults(t *testing.T) {
	if !*upstream {
		t.Skip("without -upstream")
	}
	p := pair{t, startTheirs(t), startOurs(t)}
	until(t, "kube-apiserver has its roles", func(context.Context) (bool, error) {
		return p.theirs.aggregated(t), nil
	})
	compareDefaults(p, p.theirs.roles(t), p.ours.roles(t))
	compareDefaults(p, p.theirs.bindings(t), p.ours.bindings(t))
	compareDefaults(p, p.theirs.namespacedRoles(t), p.ours.namespacedRoles(t))
	names := slices.Sorted(maps.Keys(p.ours.roles(t)))
	p.write(create, bindAll(names))
	p.settle("bound")
	resources := append(p.theirs.resources(t), p.ours.resources(t)...)
	slices.Sort(resources)
	asked := questions(names, slices.Compact(append(resources, "things.example.com", "things.example.com/status")))
	p.compareVerdicts(asked)
	p.compareLocally(asked)
	if *update {
		served := questions(names, p.ours.resources(t))
		if err := os.WriteFile(recorded, []byte(tableOf(served, p.verdicts(p.theirs, served))), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// recorded has what the default roles allow on kube-apiserver, of all that our server serves.
const recorded = "testdata/defaults.txt"

// TestDefaults asks our server alone, and compares the answers with those of kube-apiserver.
func TestDefaults(t *testing.T) {
	t.Parallel()
	if *upstream {
		t.Skip("with -upstream, TestDifferentialDefaults asks kube-apiserver")
	}
	want, err := os.ReadFile(recorded)
	if err != nil {
		t.Fatal(err)
	}
	p := pair{T: t, ours: startOurs(t)}
	names := slices.Sorted(maps.Keys(p.ours.roles(t)))
	for _, binding := range bindAll(names) {
		if reason, err := p.ours.write(t.Context(), create, binding); reason != "" || err != nil {
			t.Fatal(reason, err)
		}
	}
	asked := questions(names, p.ours.resources(t))
	report(t, string(want), tableOf(asked, p.verdicts(p.ours, asked)))
}

// tableOf lists what is allowed: who, where, the verbs, and the resources and paths.
func tableOf(asked []authorizationv1.SubjectAccessReviewSpec, answers []verdict) string {
	type cell struct{ who, what string }
	allowed := map[cell][]string{}
	for n, spec := range asked {
		if !answers[n].allowed {
			continue
		}
		if r := spec.ResourceAttributes; r != nil {
			where := cmp.Or(r.Namespace, "everywhere")
			c := cell{spec.User + strings.Join(spec.Groups, "") + " " + where, named(r)}
			allowed[c] = append(allowed[c], r.Verb)
		} else {
			c := cell{spec.User + " everywhere", spec.NonResourceAttributes.Path}
			allowed[c] = append(allowed[c], spec.NonResourceAttributes.Verb)
		}
	}
	rows := map[string][]string{}
	for c, verbs := range allowed {
		row := c.who + ": " + strings.Join(verbs, ",")
		rows[row] = append(rows[row], c.what)
	}
	var table strings.Builder
	for _, row := range slices.Sorted(maps.Keys(rows)) {
		slices.Sort(rows[row])
		fmt.Fprintf(&table, "%s\n    %s\n", row, strings.Join(rows[row], "\n    "))
	}
	return table.String()
}

// named is the inverse of attributes.
func named(r *authorizationv1.ResourceAttributes) string {
	return strings.TrimSuffix(r.Resource+"."+r.Group+"/"+r.Subresource, "/")
}

// aggregated reports whether the roles admin, edit and view have the rules of the roles that are added to them.
func (s *server) aggregated(t *testing.T) bool {
	roles := s.roles(t)
	for _, name := range []string{"admin", "edit", "view"} {
		for _, added := range roles {
			if roles[name] == nil || added.Labels["rbac.authorization.k8s.io/aggregate-to-"+name] == "" {
				continue
			}
			for _, rule := range added.Rules {
				if !slices.ContainsFunc(roles[name].Rules, func(r rbacv1.PolicyRule) bool { return shown(r) == shown(rule) }) {
					return false
				}
			}
		}
	}
	return roles["view"] != nil && len(roles["view"].Rules) > 0
}

// compareDefaults compares roles or bindings.
func compareDefaults[T any](p pair, theirs, ours map[string]T) {
	p.Helper()
	for name, got := range ours {
		if want, found := theirs[name]; !found || shown(want) != shown(got) {
			p.Errorf("%s\nkube-apiserver: %s\ncrd-server:     %s", name, shown(want), shown(got))
		}
	}
	for name := range theirs {
		if _, found := ours[name]; !found && !ofOthers.MatchString(name) {
			p.Errorf("there is no %s", name)
		}
	}
}

// own returns the metadata that does not depend on the server.
func own(meta metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: meta.Name, Namespace: meta.Namespace, Labels: meta.Labels, Annotations: meta.Annotations,
	}
}

// roles returns the ClusterRoles of a server by name.
func (s *server) roles(t *testing.T) map[string]*rbacv1.ClusterRole {
	t.Helper()
	list, err := s.RbacV1().ClusterRoles().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	roles := map[string]*rbacv1.ClusterRole{}
	for _, role := range list.Items {
		roles[role.Name] = &rbacv1.ClusterRole{
			ObjectMeta: own(role.ObjectMeta), Rules: role.Rules, AggregationRule: role.AggregationRule,
		}
	}
	return roles
}

// bindings returns the ClusterRoleBindings of a server by name.
func (s *server) bindings(t *testing.T) map[string]*rbacv1.ClusterRoleBinding {
	t.Helper()
	list, err := s.RbacV1().ClusterRoleBindings().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	bindings := map[string]*rbacv1.ClusterRoleBinding{}
	for _, b := range list.Items {
		bindings[b.Name] = &rbacv1.ClusterRoleBinding{
			ObjectMeta: own(b.ObjectMeta), Subjects: b.Subjects, RoleRef: b.RoleRef,
		}
	}
	return bindings
}

// namespacedRoles returns the Roles of a server by namespace and name.
func (s *server) namespacedRoles(t *testing.T) map[string]*rbacv1.Role {
	t.Helper()
	list, err := s.RbacV1().Roles("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	roles := map[string]*rbacv1.Role{}
	for _, role := range list.Items {
		roles[role.Namespace+"/"+role.Name] = &rbacv1.Role{ObjectMeta: own(role.ObjectMeta), Rules: role.Rules}
	}
	return roles
}

// resources returns what a server serves, as resource.group or resource.group/subresource.
func (s *server) resources(t *testing.T) (names []string) {
	t.Helper()
	_, lists, err := s.Discovery().ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range lists {
		group, _, found := strings.Cut(list.GroupVersion, "/")
		if !found {
			group = ""
		}
		for _, r := range list.APIResources {
			resource, subresource, _ := strings.Cut(r.Name, "/")
			names = append(names, strings.TrimSuffix(resource+"."+group+"/"+subresource, "/"))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// inNamespace has bindings of the roles that users are given there; elsewhere the user of a role has the whole role.
const inNamespace = "default"

// bindAll binds each role to a user of its name, and in a namespace to a group of its name.
func bindAll(roles []string) (bindings []object) {
	for _, role := range roles {
		meta := metav1.ObjectMeta{Name: "of-" + role}
		ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role}
		user := rbacv1.Subject{Kind: "User", APIGroup: rbacv1.GroupName, Name: role}
		everywhere := &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: []rbacv1.Subject{user}}
		team := rbacv1.Subject{Kind: "Group", APIGroup: rbacv1.GroupName, Name: role}
		meta.Namespace = inNamespace
		here := &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: []rbacv1.Subject{team}}
		bindings = append(bindings, object{clusterBinding: everywhere}, object{binding: here})
	}
	return bindings
}

// verbs are those of requests, and those that roles give on roles, users and other names.
var verbs = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "bind",
	"escalate", "impersonate", "use", "approve"}

// paths are requests that are for no resource.
var paths = []string{"/", "/api", "/api/v1", "/apis", "/apis/apps", "/healthz", "/healthz/etcd", "/livez", "/livez/x",
	"/readyz", "/readyz/x", "/metrics", "/metrics/slis", "/version", "/version/", "/openapi", "/openapi/v3",
	"/openid/v1/jwks", "/.well-known/openid-configuration", "/statusz", "/flagz", "/debug/pprof", "/logs", "/configz"}

// questions returns a request for each role, verb, and resource or path: of the user everywhere, and for the roles of
// users in two namespaces, of which the group has the role in one.
func questions(roles, resources []string) (asked []authorizationv1.SubjectAccessReviewSpec) {
	for _, role := range roles {
		for _, path := range paths {
			for _, verb := range []string{"get", "post"} {
				wanted := &authorizationv1.NonResourceAttributes{Verb: verb, Path: path}
				asked = append(asked, authorizationv1.SubjectAccessReviewSpec{User: role, NonResourceAttributes: wanted})
			}
		}
		for _, name := range resources {
			for _, verb := range verbs {
				asked = append(asked, questionsOf(role, attributes(name, verb))...)
			}
		}
	}
	return asked
}

func questionsOf(role string, wanted *authorizationv1.ResourceAttributes) []authorizationv1.SubjectAccessReviewSpec {
	asked := []authorizationv1.SubjectAccessReviewSpec{{User: role, ResourceAttributes: wanted}}
	if strings.HasPrefix(role, "system:") {
		return asked
	}
	for _, namespace := range []string{inNamespace, "kube-system"} {
		there := *wanted
		there.Namespace = namespace
		asked = append(asked, authorizationv1.SubjectAccessReviewSpec{Groups: []string{role}, ResourceAttributes: &there})
	}
	return asked
}

// attributes returns the attributes of a request for a resource of a name as resources returns them.
func attributes(name, verb string) *authorizationv1.ResourceAttributes {
	name, subresource, _ := strings.Cut(name, "/")
	resource, group, _ := strings.Cut(name, ".")
	return &authorizationv1.ResourceAttributes{Verb: verb, Group: group, Resource: resource, Subresource: subresource}
}
