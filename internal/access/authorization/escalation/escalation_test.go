package escalation_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/crd-server/crd-server/internal/access/authorization/escalation"
	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// held are the rules that each user has.
var held = map[string][]rbacv1.PolicyRule{
	"reader": {rule("get,list", "", "pods"), rule("get", "", "secrets", "mine")},
	"admin":  {rule("*", "*", "*"), {Verbs: []string{"*"}, NonResourceURLs: []string{"*"}}},
	"broken": {rule("get", "", "pods")},
}

func rule(verbs, group, resource string, names ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{
		Verbs: strings.Split(verbs, ","), APIGroups: []string{group}, Resources: []string{resource}, ResourceNames: names,
	}
}

// resolver is a RuleResolver with the rules in held, and with two roles.
type resolver struct{}

func (resolver) RulesFor(_ context.Context, u user.Info, _ string) ([]rbacv1.PolicyRule, error) {
	if u.GetName() == "broken" {
		return held[u.GetName()], errors.New("a role is missing")
	}
	return held[u.GetName()], nil
}

func (resolver) GetRoleReferenceRules(
	_ context.Context, ref rbacv1.RoleRef, namespace string,
) ([]rbacv1.PolicyRule, error) {
	switch {
	case ref.Kind == "Role" && namespace == "n" && ref.Name == "podreader":
		return []rbacv1.PolicyRule{rule("get", "", "pods")}, nil
	case ref.Kind == "ClusterRole" && ref.Name == "secretreader":
		return []rbacv1.PolicyRule{rule("get", "", "secrets")}, nil
	}
	return nil, apierrors.NewNotFound(rbacv1.Resource("roles"), ref.Name)
}

// verbs allows a user to use a verb on resources of a name in a namespace: "user verb resource namespace name".
type verbs []string

func (v verbs) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	asked := strings.Join([]string{a.GetUser().GetName(), a.GetVerb(), a.GetResource(), a.GetNamespace(), a.GetName()},
		" ")
	if a.IsResourceRequest() && a.GetAPIGroup() == rbacv1.GroupName && slices.Contains(v, asked) {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

func (v verbs) ConditionsAwareAuthorize(
	ctx context.Context, a authorizer.Attributes,
) authorizer.ConditionsAwareDecision {
	return authorizer.ConditionsAwareDecisionFromParts(v.Authorize(ctx, a))
}

func (verbs) EvaluateConditions(
	context.Context, authorizer.ConditionsAwareDecision, authorizer.ConditionsData,
) (authorizer.Decision, string, error) {
	return authorizer.DecisionDeny, "", nil
}

func role(rules ...rbacv1.PolicyRule) *rbacv1.Role {
	return &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "x"}, Rules: rules}
}

func clusterRole(selectors int, rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "x"}, Rules: rules,
		AggregationRule: &rbacv1.AggregationRule{ClusterRoleSelectors: make([]metav1.LabelSelector, selectors)},
	}
}

func binding(kind, name string) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "x"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name},
	}
}

func clusterBinding(name string) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "x"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
	}
}

// finalized returns an object with a finalizer, as the collector adds it.
func finalized(obj *rbacv1.Role) *rbacv1.Role {
	obj.Finalizers = []string{metav1.FinalizerOrphanDependents}
	return obj
}

const (
	attempt = `is forbidden: user "reader" (groups=["team"]) is attempting to grant RBAC permissions not currently ` +
		`held:` + "\n"
	noPrivies = "must have cluster-admin privileges to use the aggregationRule"
)

// TestEscalation checks which writes of which users are refused, and with which words.
func TestEscalation(t *testing.T) {
	t.Parallel()
	secrets := role(rule("get", "", "secrets"))
	for _, test := range []struct {
		name, user, resource string
		obj, old             runtime.Object
		allowed              verbs
		err                  string // the whole error or, with a leading "...", a part of it
	}{
		{name: "a role with less", user: "reader", resource: "roles",
			obj: role(rule("get", "", "pods"), rule("get", "", "secrets", "mine"))},
		{name: "an empty role", user: "nobody", resource: "roles", obj: role()},
		{
			name: "a role with more", user: "reader", resource: "roles",
			obj: role(rule("get,delete,watch", "", "pods"), rule("get", "", "secrets", "mine", "other"),
				rule("get", "", "secrets")),
			err: `roles.rbac.authorization.k8s.io "x" ` + attempt +
				`{APIGroups:[""], Resources:["pods"], Verbs:["delete" "watch"]}` + "\n" +
				`{APIGroups:[""], Resources:["secrets"], ResourceNames:["other"], Verbs:["get"]}` + "\n" +
				`{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}`,
		},
		{name: "an unchanged role", user: "reader", resource: "roles", obj: secrets, old: secrets},
		{name: "a finalizer", user: "reader", resource: "roles", obj: finalized(secrets.DeepCopy()), old: secrets},
		{
			name: "a rule and a finalizer", user: "reader", resource: "roles",
			obj: finalized(role(rule("list", "", "secrets"))), old: secrets, err: `...Resources:["secrets"], Verbs:["list"]}`,
		},
		{name: "escalate", user: "reader", resource: "roles", obj: secrets, allowed: verbs{"reader escalate roles n x"}},
		{
			name: "escalate another resource", user: "reader", resource: "roles", obj: secrets,
			allowed: verbs{"reader escalate clusterroles n x", "reader bind roles n x"}, err: "...not currently held",
		},
		{
			name: "errors of other roles", user: "broken", resource: "roles", obj: secrets,
			err: "...; resolution errors: [a role is missing]",
		},
		{
			name: "paths", user: "reader", resource: "clusterroles",
			obj: clusterRole(0, rbacv1.PolicyRule{Verbs: []string{"get"}, NonResourceURLs: []string{"/a", "/b"}}),
			err: `...held:` + "\n" + `{NonResourceURLs:["/a"], Verbs:["get"]}` + "\n" +
				`{NonResourceURLs:["/b"], Verbs:["get"]}`,
		},
		{name: "aggregation", user: "reader", resource: "clusterroles", obj: clusterRole(1), err: "..." + noPrivies},
		{name: "no more aggregation", user: "reader", resource: "clusterroles", obj: clusterRole(0), old: clusterRole(1),
			err: "..." + noPrivies},
		{name: "aggregation by an administrator", user: "admin", resource: "clusterroles", obj: clusterRole(1)},
		{name: "system:masters", user: "root", resource: "clusterroles", obj: clusterRole(1, rule("*", "*", "*"))},
		{name: "a role that is held", user: "reader", resource: "rolebindings", obj: binding("Role", "podreader")},
		{
			name: "a role that is not held", user: "reader", resource: "rolebindings",
			obj: binding("ClusterRole", "secretreader"),
			err: `rolebindings.rbac.authorization.k8s.io "x" ` + attempt +
				`{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}`,
		},
		{
			name: "bind here", user: "reader", resource: "rolebindings", obj: binding("ClusterRole", "secretreader"),
			allowed: verbs{"reader bind clusterroles n secretreader"},
		},
		{
			name: "bind elsewhere", user: "reader", resource: "clusterrolebindings", obj: clusterBinding("secretreader"),
			allowed: verbs{"reader bind clusterroles n secretreader"}, err: "...not currently held",
		},
		{
			name: "bind everywhere", user: "reader", resource: "clusterrolebindings", obj: clusterBinding("secretreader"),
			allowed: verbs{"reader bind clusterroles  secretreader"},
		},
		{name: "a missing role", user: "reader", resource: "rolebindings", obj: binding("Role", "absent"),
			err: `rolebindings.rbac.authorization.k8s.io "absent" not found`},
		{name: "a role of another kind", user: "reader", resource: "rolebindings", obj: binding("Other", "x"),
			err: `unsupported role reference kind: "Other"`},
		{
			name: "too many permissions", user: "admin", resource: "roles",
			obj: role(rbacv1.PolicyRule{Verbs: many(100), APIGroups: many(100), Resources: many(100)}),
			err: "...more than 100000 RBAC permissions",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := authorize(t, test.allowed, test.resource)(requestOf(test.user, test.resource), test.obj, test.old)
			got := ""
			if err != nil {
				got = err.Error()
			}
			part, isPart := strings.CutPrefix(test.err, "...")
			if isPart && !strings.Contains(got, part) || !isPart && got != test.err {
				t.Errorf("error %q, want %q", got, test.err)
			}
			if err != nil && strings.Contains(test.err, "is forbidden") && !apierrors.IsForbidden(err) {
				t.Errorf("%v is not Forbidden", err)
			}
		})
	}
}

func many(count int) []string { return slices.Repeat([]string{"x"}, count) }

// authorize returns the function that authorizes writes of a resource.
func authorize(t *testing.T, allowed verbs, plural string) func(ctx context.Context, obj, old runtime.Object) error {
	t.Helper()
	all := resource.Plugins(escalation.Check{Authorizer: allowed, Rules: resolver{}}.Plugins())
	return all.For(rbacv1.Resource(plural), "")[0].Authorize
}

// requestOf returns the context of a write of the object x, in the namespace n if it has one.
func requestOf(name, resource string) context.Context {
	groups := []string{"team"}
	if name == "root" {
		groups = []string{user.SystemPrivilegedGroup}
	}
	namespace := "n"
	if strings.HasPrefix(resource, "cluster") {
		namespace = ""
	}
	ctx := request.WithUser(context.Background(), &user.DefaultInfo{Name: name, Groups: groups})
	ctx = request.WithNamespace(ctx, namespace)
	return request.WithRequestInfo(ctx, &request.RequestInfo{
		IsResourceRequest: true, APIGroup: rbacv1.GroupName, Resource: resource, Namespace: namespace, Name: "x",
	})
}
