package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
)

// roleJSON is the JSON of a role with one rule, in core/v1.
func roleJSON(name, verbs, resources string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q},"rules":[{"verbs":[%s],"apiGroups":[""],"resources":[%s]}]}`,
		name, quoted(verbs), quoted(resources))
}

// bindingJSON is the JSON of a binding of a role to a subject.
func bindingJSON(name, roleKind, role, subjectKind, subject string) string {
	group := `"apiGroup":"rbac.authorization.k8s.io",`
	if subjectKind == "ServiceAccount" {
		group = `"namespace":"default",`
	}
	return fmt.Sprintf(`{"metadata":{"name":%q},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":%q,"name":%q},`+
		`"subjects":[{%s"kind":%q,"name":%q}]}`, name, roleKind, role, group, subjectKind, subject)
}

func quoted(list string) string { return `"` + strings.ReplaceAll(list, ",", `","`) + `"` }

const (
	rolesInDefault    = rbacPath + "namespaces/default/roles"
	bindingsInDefault = rbacPath + "namespaces/default/rolebindings"
)

// TestRolesDecide gives users roles, and checks that each write is in effect when it is answered.
func TestRolesDecide(t *testing.T) {
	t.Parallel()
	s := startWhole(t)
	root, jane, robot := s.root(), s.person("jane", "dev"), s.person("system:serviceaccount:default:robot")
	list := func(p *person) int { return p.send("GET", configMapsPath, "").code }
	if list(jane) != 403 || list(robot) != 403 {
		t.Error("users without roles may list")
	}
	root.must(201, "POST", rolesInDefault, roleJSON("reader", "get,list", "configmaps"))
	root.must(201, "POST", bindingsInDefault, bindingJSON("dev", "Role", "reader", "Group", "dev"))
	if list(jane) != 200 || list(robot) != 403 {
		t.Error("the binding of the group is not in effect")
	}
	root.must(201, "POST", bindingsInDefault, bindingJSON("robot", "Role", "reader", "ServiceAccount", "robot"))
	if list(robot) != 200 {
		t.Error("the binding of the service account is not in effect")
	}
	root.must(200, "PUT", rolesInDefault+"/reader", roleJSON("reader", "get", "configmaps"))
	if list(jane) != 403 {
		t.Error("the change of the role is not in effect")
	}
	root.must(200, "DELETE", rolesInDefault+"/reader", "")
	refused := jane.must(403, "GET", configMapsPath+"/x", "").status(t).Message
	if want := `User "jane" cannot get resource "configmaps" in API group "" in the namespace "default": ` +
		`rbac: RBAC: role.rbac.authorization.k8s.io "reader" not found`; !strings.HasSuffix(refused, want) {
		t.Errorf("got %q, want %q", refused, want)
	}
	root.must(201, "POST", rolesInDefault, roleJSON("reader", "get,list", "configmaps"))
	root.must(200, "DELETE", bindingsInDefault+"/dev", "")
	if list(jane) != 403 || list(robot) != 200 {
		t.Error("the deletion of the binding is not in effect")
	}
}

// TestEscalationWithoutClusterRoleBindings checks that users cannot give what they do not have, if --runtime-config
// leaves out a resource of the group.
func TestEscalationWithoutClusterRoleBindings(t *testing.T) {
	t.Parallel()
	s := startWhole(t, "--runtime-config=rbac.authorization.k8s.io/v1/clusterrolebindings=false")
	root, jane := s.root(), s.person("jane")
	root.must(404, "GET", bindingsPath, "")
	root.must(201, "POST", rolesInDefault, `{"metadata":{"name":"author"},"rules":[`+
		`{"verbs":["create"],"apiGroups":["rbac.authorization.k8s.io"],"resources":["roles"]}]}`)
	root.must(201, "POST", bindingsInDefault, bindingJSON("jane", "Role", "author", "User", "jane"))
	jane.must(403, "POST", rolesInDefault, roleJSON("reader", "get", "secrets"))
}

// TestDefaultRolesCanBeTakenAway checks that an administrator can keep users from discovery, and that the
// administrators and health checks stay.
func TestDefaultRolesCanBeTakenAway(t *testing.T) {
	t.Parallel()
	s := startWhole(t)
	root, jane := s.root(), s.person("jane")
	jane.must(200, "GET", "/apis", "")
	for _, binding := range []string{"system:discovery", "cluster-admin"} {
		root.must(200, "DELETE", bindingsPath+"/"+binding, "")
	}
	jane.must(403, "GET", "/apis", "")
	jane.must(200, "GET", "/readyz", "")
	root.must(200, "GET", "/apis", "")
	root.must(200, "GET", configMapsPath, "")
}

// TestAnonymousRoles checks that anonymous requests have the roles of system:unauthenticated, if they are let in.
func TestAnonymousRoles(t *testing.T) {
	t.Parallel()
	s := startWhole(t, "--anonymous-auth=true")
	nobody := s.person("")
	nobody.must(200, "GET", "/version", "")
	nobody.must(403, "GET", "/apis", "")
	nobody.must(403, "GET", configMapsPath, "")
	s.root().must(201, "POST", bindingsInDefault,
		bindingJSON("all", "ClusterRole", "view", "Group", "system:unauthenticated"))
	nobody.must(200, "GET", configMapsPath, "")
}

// TestReviewsOfRoles checks reviews of what roles allow, with the reasons of kube-apiserver.
func TestReviewsOfRoles(t *testing.T) {
	t.Parallel()
	s := startWhole(t)
	root, jane := s.root(), s.person("jane", "dev")
	root.must(201, "POST", bindingsInDefault, bindingJSON("dev", "ClusterRole", "view", "Group", "dev"))
	const reviews = "/apis/authorization.k8s.io/v1/"
	status := func(p *person, path, spec string) (status authorizationv1.SubjectAccessReviewStatus) {
		var review struct {
			Status *authorizationv1.SubjectAccessReviewStatus
		}
		review.Status = &status
		if err := json.Unmarshal([]byte(p.must(201, "POST", reviews+path, `{"spec":`+spec+`}`).body), &review); err != nil {
			t.Fatal(err)
		}
		return status
	}
	const reads = `"resourceAttributes":{"namespace":"default","verb":"list","resource":"configmaps"}`
	const why = `RBAC: allowed by RoleBinding "dev/default" of ClusterRole "view" to Group "dev"`
	for path, got := range map[string]authorizationv1.SubjectAccessReviewStatus{
		"self":    status(jane, "selfsubjectaccessreviews", `{`+reads+`}`),
		"another": status(root, "subjectaccessreviews", `{"user":"x","groups":["dev"],`+reads+`}`),
		"local":   status(root, "namespaces/default/localsubjectaccessreviews", `{"user":"x","groups":["dev"],`+reads+`}`),
	} {
		if !got.Allowed || got.Denied || got.Reason != why {
			t.Errorf("%s: %+v", path, got)
		}
	}
	if got := status(jane, "selfsubjectaccessreviews", `{`+strings.Replace(reads, "configmaps", "secrets", 1)+
		`}`); got.Allowed || got.Denied {
		t.Errorf("%+v", got)
	}
	rules := func(p *person, namespace string) (status authorizationv1.SubjectRulesReviewStatus) {
		var review authorizationv1.SelfSubjectRulesReview
		body := p.must(201, "POST", reviews+"selfsubjectrulesreviews", `{"spec":{"namespace":"`+namespace+`"}}`).body
		if err := json.Unmarshal([]byte(body), &review); err != nil {
			t.Fatal(err)
		}
		return review.Status
	}
	has := func(status authorizationv1.SubjectRulesReviewStatus, resource string) bool {
		return slices.ContainsFunc(status.ResourceRules, func(r authorizationv1.ResourceRule) bool {
			return slices.Contains(r.Resources, resource)
		})
	}
	here, there := rules(jane, "default"), rules(jane, "kube-system")
	if !has(here, "configmaps") || has(here, "secrets") || has(there, "configmaps") || !has(there, "selfsubjectreviews") ||
		here.Incomplete || here.EvaluationError != "" {
		t.Errorf("%+v\n%+v", here, there)
	}
}

// TestTokenReviews checks that another server can ask whose token it got.
func TestTokenReviews(t *testing.T) {
	t.Parallel()
	tokens := written(t, "tokens.csv", `secret,jane,7,"dev"`)
	s := startWhole(t, "--token-auth-file", tokens)
	review := func(token string) string {
		body := s.root().must(201, "POST", "/apis/authentication.k8s.io/v1/tokenreviews", `{"spec":{"token":"`+token+
			`"}}`).body
		return body[strings.Index(body, `"status"`):]
	}
	if got := review("secret"); !strings.Contains(got, `"authenticated":true`) ||
		!strings.Contains(got, `"username":"jane","uid":"7","groups":["dev","system:authenticated"]`) {
		t.Error(got)
	}
	if got := review("wrong"); strings.Contains(got, `"authenticated"`) || !strings.Contains(got, `invalid bearer token`) {
		t.Error(got)
	}
	s.person("jane").must(403, "POST", "/apis/authentication.k8s.io/v1/tokenreviews", `{"spec":{"token":"secret"}}`)
}

// TestReviewsInDiscovery checks what an aggregator and client-go look for.
func TestReviewsInDiscovery(t *testing.T) {
	t.Parallel()
	root := startWhole(t).root()
	for path, want := range map[string]string{
		"/apis/authentication.k8s.io": `"preferredVersion":{"groupVersion":"authentication.k8s.io/v1"`,
		"/apis/authentication.k8s.io/v1": `"name":"tokenreviews","singularName":"tokenreview",` +
			`"namespaced":false,"kind":"TokenReview","verbs":["create"]}`,
		"/apis/authorization.k8s.io":                `"preferredVersion":{"groupVersion":"authorization.k8s.io/v1"`,
		"/apis/authorization.k8s.io/v1":             `"name":"localsubjectaccessreviews"`,
		"/openapi/v3/apis/authentication.k8s.io/v1": `createAuthenticationV1TokenReview`,
		"/openapi/v3/apis/authorization.k8s.io/v1":  `createAuthorizationV1NamespacedLocalSubjectAccessReview`,
		"/openapi/v2": `"io.k8s.api.authorization.v1.SubjectAccessReview":{`,
	} {
		if got := root.must(http.StatusOK, "GET", path, ""); !strings.Contains(got.body, want) {
			t.Errorf("%s has no %s: %.300s", path, want, got.body)
		}
	}
}
