package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestAuthorizationOfPaths checks the response to anonymous, authenticated and privileged users for each path.
func TestAuthorizationOfPaths(t *testing.T) {
	t.Parallel()
	s := start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "resources") }), nil)
	const crontabs = "/apis/example.com/v1/namespaces/default/crontabs"
	for _, test := range []struct {
		user, method, path string
		groups             []string
		code               int
		message            string
	}{
		{path: "/healthz", code: 200},
		{path: "/livez?verbose", code: 200},
		{path: "/readyz", code: 200},
		{path: "/livez/ping", code: 401, message: "Unauthorized"},
		{path: "/version", code: 401, message: "Unauthorized"},
		{path: "/apis", code: 401, message: "Unauthorized"},
		{path: "/", code: 401, message: "Unauthorized"},
		{path: "/metrics", code: 401, message: "Unauthorized"},
		{path: "/nowhere", code: 401, message: "Unauthorized"},
		{path: crontabs, code: 401, message: "Unauthorized"},
		{user: "jane", path: "/healthz", code: 200},
		{user: "jane", path: "/version", code: 200},
		{user: "jane", path: "/api", code: 200},
		{user: "jane", path: "/apis", code: 200},
		{user: "jane", path: "/apis/example.com/v1", code: 200},
		{user: "jane", path: "/openapi/v2", code: 200},
		{user: "jane", path: "/openapi/v3/apis/example.com/v1", code: 200},
		{user: "jane", path: "/", code: 403, message: `forbidden: User "jane" cannot get path "/"`},
		{user: "jane", path: "/metrics", code: 403, message: `forbidden: User "jane" cannot get path "/metrics"`},
		{user: "jane", path: "/livez/ping", code: 403, message: `forbidden: User "jane" cannot get path "/livez/ping"`},
		{user: "jane", path: "/debug/pprof/", code: 403, message: `forbidden: User "jane" cannot get path "/debug/pprof/"`},
		{user: "jane", method: "POST", path: "/apis", code: 403, message: `forbidden: User "jane" cannot post path "/apis"`},
		{user: "jane", path: crontabs, code: 403,
			message: `crontabs.example.com is forbidden: User "jane" cannot list resource "crontabs" in API group ` +
				`"example.com" in the namespace "default"`},
		{user: "jane", path: "/apis/example.com/v1/crontabs", code: 403,
			message: `crontabs.example.com is forbidden: User "jane" cannot list resource "crontabs" in API group ` +
				`"example.com" at the cluster scope`},
		{user: "root", groups: []string{"system:masters"}, path: crontabs, code: 200},
		{user: "root", groups: []string{"system:masters"}, path: "/", code: 200},
		{user: "root", groups: []string{"system:masters"}, path: "/metrics", code: 200},
		{user: "root", groups: []string{"system:masters"}, path: "/livez/ping", code: 200},
		{user: "root", groups: []string{"system:masters"}, path: "/metrics/slis", code: 200},
		{user: "root", groups: []string{"system:masters"}, path: "/debug/flags/v", code: 406},
		{user: "root", groups: []string{"system:masters"}, path: "/index.html", code: 200},
		{user: "root", groups: []string{"system:masters"}, path: "/debug/pprof/goroutine?debug=1", code: 200},
	} {
		method := test.method
		if method == "" {
			method = http.MethodGet
		}
		t.Run(fmt.Sprintf("%s %s %s", test.user, method, test.path), func(t *testing.T) {
			client, url := s.as(test.user, test.groups...)
			got := do(t, client, method, url+test.path)
			if got.code != test.code {
				t.Fatalf("got %d %q, want %d", got.code, got.body, test.code)
			}
			if got.header.Get("Audit-Id") == "" {
				t.Error("no Audit-Id")
			}
			if test.message != "" {
				if status := got.status(t); status.Message != test.message || int(status.Code) != test.code {
					t.Errorf("got %d %q, want %q", status.Code, status.Message, test.message)
				}
			}
		})
	}
}

func TestUnknownPaths(t *testing.T) {
	t.Parallel()
	s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { notFound(w, r) }), nil)
	client, url := s.as("root", "system:masters")
	for _, path := range []string{
		"/nowhere", "/api/v1/pods", "/apis/example.com/v1/crontabs",
		"/apis/../healthz", "//healthz", "/apis//", "/apis/example.com/v1/../..", "/apis/example.com%2fv1/crontabs",
		"/apis/a/b/c/d/e/f/g/h/i", "/%2e%2e/healthz", "/version/x", "/openapi", "/apis/%00",
	} {
		t.Run(path, func(t *testing.T) {
			got := do(t, client, http.MethodGet, url+path)
			status := got.status(t)
			if got.code != 404 || status.Reason != metav1.StatusReasonNotFound ||
				status.Message != "the server could not find the requested resource" {
				t.Errorf("got %d %s", got.code, got.body)
			}
		})
	}
	t.Run("check", func(t *testing.T) { // as plain text, as of all checks
		for _, path := range []string{"/healthz/", "/livez/nothing", "/readyz/a/b"} {
			if got := do(t, client, http.MethodGet, url+path); got.code != 404 || got.body != "404 page not found\n" {
				t.Errorf("%s: %d %s", path, got.code, got.body)
			}
		}
	})
	t.Run("escaped slash is a slash", func(t *testing.T) {
		if got := do(t, client, http.MethodGet, url+"/%61pis"); got.body != "groups" {
			t.Errorf("got %d %s", got.code, got.body)
		}
	})
	t.Run("unknown method", func(t *testing.T) {
		if got := do(t, client, "BREW", url+"/apis/example.com/v1/crontabs"); got.code != 404 {
			t.Errorf("did not reach the handler: %d %s", got.code, got.body)
		}
		if got := do(t, client, "POST", url+"/version"); got.code != 405 ||
			got.status(t).Reason != metav1.StatusReasonMethodNotAllowed {
			t.Errorf("got %d %s", got.code, got.body)
		}
	})
}

func TestIndex(t *testing.T) {
	t.Parallel()
	s := start(t, http.HandlerFunc(notFound), nil)
	client, url := s.as("root", "system:masters")
	var paths metav1.RootPaths
	if err := json.Unmarshal([]byte(do(t, client, "GET", url+"/").body), &paths); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"/api", "/apis", "/apis/example.com", "/healthz", "/healthz/etcd", "/livez/ping",
		"/metrics",
		"/metrics/slis", "/openapi/v2", "/openapi/v3", "/readyz/informer-sync", "/readyz/shutdown", "/version"} {
		if !strings.Contains(" "+strings.Join(paths.Paths, " ")+" ", " "+want+" ") {
			t.Errorf("%s is not listed in %v", want, paths.Paths)
		}
	}
}
