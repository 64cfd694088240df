package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// rules is a webhook that allows a user the requests that the user's name lists: "verb resource[/subresource]",
// separated by commas.
type rules struct {
	*host
	mu    sync.Mutex // guards asked
	asked []string   // "user: verb resource"
}

func newRules(t *testing.T) *rules {
	r := &rules{host: newHost(t)}
	r.answer = func(_ string, review map[string]any) map[string]any {
		spec := review["spec"].(map[string]any)
		asked := "?"
		if a, ok := spec["resourceAttributes"].(map[string]any); ok {
			asked = fmt.Sprint(a["verb"], " ", a["resource"])
			if a["subresource"] != nil {
				asked += fmt.Sprint("/", a["subresource"])
			}
		} else if a, ok := spec["nonResourceAttributes"].(map[string]any); ok {
			asked = fmt.Sprint(a["verb"], " ", a["path"])
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.asked = append(r.asked, fmt.Sprint(spec["user"], ": ", asked))
		review["status"] = map[string]any{"allowed": slices.Contains(strings.Split(fmt.Sprint(spec["user"]), ","), asked),
			"reason": "by name"}
		return review
	}
	return r
}

// everyVerb has every kind of request for a resource, with the permissions that it needs.
var everyVerb = []struct {
	needs, method, path, body string
	contentType               string
	code                      int
}{
	{"list tables", "GET", tablesPath, "", "", 200},
	{"list tables", "GET", "/apis/shop.example.com/v1/tables", "", "", 200},
	{"watch tables", "GET", tablesPath + "?watch=true&timeoutSeconds=1", "", "", 200},
	{"create tables", "POST", tablesPath, table("made", 4), "", 201},
	{"create tables", "POST", tablesPath + "?dryRun=All", table("never", 4), "", 201},
	{"get tables", "GET", tablesPath + "/there", "", "", 200},
	{"update tables", "PUT", tablesPath + "/there", table("there", 3), "", 200},
	{"patch tables", "PATCH", tablesPath + "/there", `{"spec":{"legs":5}}`, "application/merge-patch+json", 200},
	{"patch tables", "PATCH", tablesPath + "/there?fieldManager=m&force=true", table("there", 4),
		"application/apply-patch+yaml", 200},
	{"patch tables,create tables", "PATCH", tablesPath + "/applied?fieldManager=m", table("applied", 4),
		"application/apply-patch+yaml", 201},
	{"get tables/status", "GET", tablesPath + "/there/status", "", "", 200},
	{"update tables/status", "PUT", tablesPath + "/there/status", table("there", 3), "", 200},
	{"patch tables/status", "PATCH", tablesPath + "/there/status", `{"status":{"legs":5}}`, "application/merge-patch+json",
		200},
	{"get tables/scale", "GET", tablesPath + "/there/scale", "", "", 200},
	{"update tables/scale", "PUT", tablesPath + "/there/scale",
		`{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"there","namespace":"default"},` +
			`"spec":{"replicas":2}}`,
		"", 200},
	{"patch tables/scale", "PATCH", tablesPath + "/there/scale", `{"spec":{"replicas":3}}`, "application/merge-patch+json",
		200},
	{"delete tables", "DELETE", tablesPath + "/made", "", "", 200},
	{"deletecollection tables", "DELETE", tablesPath, "", "", 200},
	{"get customresourcedefinitions", "GET", definitionsPath + "/tables.shop.example.com", "", "", 200},
	{"list customresourcedefinitions", "GET", definitionsPath, "", "", 200},
	{"create customresourcedefinitions", "POST", definitionsPath,
		strings.ReplaceAll(strings.ReplaceAll(tablesCRD, "table", "chair"), "Table", "Chair"), "", 201},
	{"delete customresourcedefinitions", "DELETE", definitionsPath + "/chairs.shop.example.com", "", "", 200},
	{"create subjectaccessreviews", "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews",
		`{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"x",` +
			`"nonResourceAttributes":{"verb":"get","path":"/"}}}`,
		"", 201},
	{"get /metrics", "GET", "/metrics", "", "", 200},
}

// TestEveryVerbNeedsPermission sends each request without a credential, without the permission, with a part of the
// permissions, and with all of them.
func TestEveryVerbNeedsPermission(t *testing.T) {
	t.Parallel()
	r := newRules(t)
	s := startWhole(t, "--authorization-mode", "Webhook", "--authorization-webhook-version", "v1",
		"--authorization-webhook-config-file", kubeconfigOf(t, r.Server))
	root := s.root().withTables()
	root.must(http.StatusCreated, "POST", tablesPath, table("there", 4))
	nobody, jane := s.person(""), s.person("jane")
	for _, test := range everyVerb {
		name := test.method + " " + test.path
		if test.method == http.MethodPut && strings.Contains(test.body, `"Table"`) { // an update needs a resourceVersion
			test.body = strings.Replace(test.body, `"name":"there"`,
				`"name":"there","resourceVersion":"`+root.versionOf(tablesPath+"/there")+`"`, 1)
		}
		var headers []string
		if test.contentType != "" {
			headers = []string{"Content-Type", test.contentType}
		}
		if got := nobody.send(test.method, test.path, test.body, headers...); got.code != http.StatusUnauthorized ||
			got.status(t).Reason != "Unauthorized" {
			t.Errorf("%s, without a credential: %d %s", name, got.code, got.body)
		}
		refused := jane.send(test.method, test.path, test.body, headers...)
		if refused.code != http.StatusForbidden ||
			!strings.HasPrefix(refused.status(t).Message[strings.Index(refused.status(t).Message, `User "`):],
				`User "jane" cannot `) {
			t.Errorf("%s, without permission: %d %s", name, refused.code, refused.body)
		}
		if parts := strings.Split(test.needs, ","); len(parts) > 1 {
			part := s.person(parts[0]).send(test.method, test.path, test.body, headers...)
			if part.code != http.StatusForbidden || !strings.Contains(part.body, "cannot create resource") {
				t.Errorf("%s, with %s only: %d %s", name, parts[0], part.code, part.body)
			}
		}
		if got := s.person(test.needs).send(test.method, test.path, test.body, headers...); got.code != test.code {
			t.Errorf("%s, with permission: %d %s", name, got.code, got.body)
		}
	}
	root.must(http.StatusOK, "GET", tablesPath, "")
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, asked := range r.asked {
		if strings.HasPrefix(asked, "root:") {
			t.Errorf("the webhook was called for system:masters: %s", asked)
		}
	}
}

// TestDefaultAuthorization checks that without flags only system:masters may do more than read discovery.
func TestDefaultAuthorization(t *testing.T) {
	t.Parallel()
	s := startWhole(t)
	s.root().withTables()
	jane, nobody := s.person("jane", "dev"), s.person("")
	for path, codes := range map[string][2]int{ // of jane, of the anonymous user
		"/apis": {200, 401}, "/apis/shop.example.com/v1": {200, 401}, "/openapi/v3": {200, 401}, "/version": {200, 401},
		"/readyz": {200, 200}, "/livez": {200, 200}, "/healthz": {200, 200},
		"/metrics": {403, 401}, "/debug/pprof/": {403, 401}, "/flagz": {403, 401}, "/": {403, 401},
		"/readyz/ping": {403, 401},
		tablesPath:     {403, 401}, definitionsPath: {403, 401},
	} {
		for n, is := range []*person{jane, nobody} {
			if got := is.send("GET", path, ""); got.code != codes[n] {
				t.Errorf("GET %s of %s: %d", path, []string{"jane", "nobody"}[n], got.code)
			}
		}
	}
	want := `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"tables.shop.example.com is ` +
		`forbidden: User \"jane\" cannot list resource \"tables\" in API group \"shop.example.com\" in the namespace ` +
		`\"default\"","reason":"Forbidden","details":{"group":"shop.example.com","kind":"tables"},"code":403}` +
		"\n"
	if got := jane.send("GET", tablesPath, ""); got.body != want {
		t.Errorf("got %s", got.body)
	}
}

// TestAnonymousSettings checks requests without a credential with each value of --anonymous-auth.
func TestAnonymousSettings(t *testing.T) {
	t.Parallel()
	for flag, codes := range map[string][2]int{"": {200, 401}, "--anonymous-auth=true": {200, 403},
		"--anonymous-auth=false": {401, 401}} {
		t.Run(flag, func(t *testing.T) {
			t.Parallel()
			s := startWhole(t, strings.Fields(flag)...)
			for n, path := range []string{"/readyz", tablesPath} {
				if got := s.person("").send("GET", path, ""); got.code != codes[n] {
					t.Errorf("GET %s: %d", path, got.code)
				}
			}
		})
	}
}

// TestAlwaysAllow checks that this mode allows authenticated users everything, except to become a user who is
// allowed more elsewhere.
func TestAlwaysAllow(t *testing.T) {
	t.Parallel()
	s := startWhole(t, "--authorization-mode=AlwaysAllow")
	jane := s.person("jane").withTables()
	jane.must(http.StatusCreated, "POST", tablesPath, table("a", 4))
	s.person("").must(http.StatusUnauthorized, "GET", tablesPath, "")

	asMaster := []string{"Impersonate-User", "root", "Impersonate-Group", "system:masters"}
	refused := jane.with(asMaster...).must(http.StatusForbidden, "GET", tablesPath, "")
	if !strings.HasSuffix(refused.status(t).Message, "AlwaysAllow does not allow impersonation") {
		t.Errorf("got %q", refused.status(t).Message)
	}
	s.root().with(asMaster...).must(http.StatusOK, "GET", tablesPath, "")
}

// TestAuthorizationIsReloaded checks that a webhook with conditions is read from a file, and read again when it
// changes.
func TestAuthorizationIsReloaded(t *testing.T) {
	t.Parallel()
	r := newRules(t)
	config := func(group string) string {
		return fmt.Sprintf(`{"apiVersion":"apiserver.config.k8s.io/v1","kind":"AuthorizationConfiguration",
"authorizers":[{"type":"Webhook","name":"names",
"webhook":{"authorizedTTL":"1ms","unauthorizedTTL":"1ms","timeout":"3s","subjectAccessReviewVersion":"v1",
"matchConditionSubjectAccessReviewVersion":"v1","failurePolicy":"Deny",
"connectionInfo":{"type":"KubeConfigFile","kubeConfigFile":%q},
"matchConditions":[{"expression":"'%s' in request.groups"}]}}]}`,
			kubeconfigOf(t, r.Server), group)
	}
	file := written(t, "config.json", config("dev"))
	s := startWhole(t, "--authorization-config", file)
	s.root().withTables()
	list := func(group string) int { return s.person("list tables", group).send("GET", tablesPath, "").code }
	if dev, ops := list("dev"), list("ops"); dev != 200 || ops != 403 {
		t.Errorf("dev %d, ops %d", dev, ops)
	}
	write(t, file+".new", config("ops"))
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "the changed file is in effect", func() bool { return list("ops") == 200 && list("dev") == 403 })
}

// TestImpersonation checks that a user needs permissions to impersonate another user.
func TestImpersonation(t *testing.T) {
	t.Parallel()
	r := newRules(t)
	s := startWhole(t, "--authorization-mode", "Webhook", "--authorization-webhook-version", "v1",
		"--authorization-webhook-config-file", kubeconfigOf(t, r.Server))
	as := []string{"Impersonate-User", "ann", "Impersonate-Group", "dev"}
	if got := s.root().with(as...).whoami(); got != "ann dev,system:authenticated" {
		t.Errorf("root as ann is %s", got)
	}
	if got := s.person("impersonate users,impersonate groups").with(
		as...).whoami(); got != "ann dev,system:authenticated" {
		t.Errorf("a user with the permissions is %s", got)
	}
	if got := s.person("jane").with(as...).whoami(); !strings.Contains(got, `User "jane" cannot impersonate`) {
		t.Errorf("a user without the permissions gets %s", got)
	}
}

// TestReviews checks reviews of permissions, and invalid reviews.
func TestReviews(t *testing.T) {
	t.Parallel()
	r := newRules(t)
	s := startWhole(t, "--authorization-mode", "Webhook", "--authorization-webhook-version", "v1",
		"--authorization-webhook-config-file", kubeconfigOf(t, r.Server))
	const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
	may := func(is *person, attributes string) (allowed bool) {
		got := is.must(http.StatusCreated, "POST", path,
			`{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","spec":{`+attributes+`}}`)
		var review struct{ Status struct{ Allowed bool } }
		if err := json.Unmarshal([]byte(got.body), &review); err != nil {
			t.Fatal(err)
		}
		return review.Status.Allowed
	}
	const list = `"resourceAttributes":{"verb":"list","group":"shop.example.com","resource":"tables"}`
	if !may(s.person("list tables"), list) || may(s.person("jane"), list) || !may(s.root(), list) ||
		!may(s.person("jane"), `"nonResourceAttributes":{"verb":"get","path":"/apis"}`) {
		t.Error("a review is wrong")
	}
	jane := s.person("jane")
	for _, test := range []struct {
		method, path, body string
		headers            []string
		code               int
		message            string
	}{
		{"GET", path, "", nil, 403, `cannot list resource "selfsubjectaccessreviews"`},
		{"POST", path, `{"spec":{}}`, nil, 422,
			` "" is invalid: spec: Invalid value: null: exactly one of`},
		{"POST", path, `{"metadata":{"name":"x"},"spec":{` + list + `}}`, nil, 422, "must be empty"},
		{"POST", path, `{`, nil, 400, "unexpected end of JSON input"},
		{"POST", path, `{"kind":"Other","apiVersion":"v1"}`, nil, 400,
			"Other in version \\\"v1\\\" cannot be handled as a SelfSubjectAccessReview"},
		{"POST", path + "?fieldValidation=Strict", `{"spec":{"nothing":1}}`, nil, 400,
			`strict decoding error: unknown field \"spec.nothing\"`},
		{"POST", path, `{}`, []string{"Content-Type", "text/plain"}, 415, "the body of the request was in an unknown format"},
		{"POST", path, `{}`, []string{"Accept", "text/plain"}, 406, "only the following media types are accepted"},
		{"POST", strings.Replace(path, "selfsubject", "subject", 1), `{}`, nil, 403,
			`cannot create resource \"subjectaccessreviews\"`},
		{"POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", `{}`, nil, 400, "no namespace on request"},
		{"POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", `{"spec":{"namespace":"default"}}`, nil, 201,
			`"incomplete":true`},
	} {
		got := jane.send(test.method, test.path, test.body, test.headers...)
		if got.code != test.code || !strings.Contains(strings.ReplaceAll(got.body, `\"`, `"`),
			strings.ReplaceAll(test.message, `\"`, `"`)) {
			t.Errorf("%s %s %s: %d %s", test.method, test.path, test.body, got.code, got.body)
		}
	}
	s.root().must(http.StatusMethodNotAllowed, "GET", path, "")
	s.root().must(http.StatusNotFound, "GET", path+"/name", "")
}
