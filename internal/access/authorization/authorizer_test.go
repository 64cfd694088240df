package authorization

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"

	dto "github.com/prometheus/client_model/go"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/crd-server/crd-server/internal/access/authorization/rbac"
)

var (
	admin    = &user.DefaultInfo{Name: "admin", Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated}}
	jane     = &user.DefaultInfo{Name: "jane", Groups: []string{user.AllAuthenticated}}
	monitor  = &user.DefaultInfo{Name: "prometheus", Groups: []string{user.MonitoringGroup, user.AllAuthenticated}}
	stranger = &user.DefaultInfo{Name: user.Anonymous, Groups: []string{user.AllUnauthenticated}}
)

// get returns a request for a path.
func get(who user.Info, path string) authorizer.AttributesRecord {
	return authorizer.AttributesRecord{User: who, Verb: "get", Path: path}
}

// resource returns a request for a resource.
func resource(who user.Info, verb, group, resource string) authorizer.AttributesRecord {
	return authorizer.AttributesRecord{User: who, Verb: verb, APIGroup: group, Resource: resource, ResourceRequest: true}
}

func newAuthorizer(t *testing.T, change func(*Options)) *Authorizer {
	t.Helper()
	return newAuthorizerByRoles(t, rbac.NewIndex(), change)
}

func newAuthorizerByRoles(t *testing.T, roles *rbac.Index, change func(*Options)) *Authorizer {
	t.Helper()
	o := NewOptions()
	if change != nil {
		change(&o)
	}
	if errs := o.Validate(); len(errs) > 0 {
		t.Fatal(errs)
	}
	a, err := New(Config{Options: &o, Roles: roles, ID: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// allows reports whether a request is allowed.
func allows(t *testing.T, a *Authorizer, request authorizer.AttributesRecord) bool {
	t.Helper()
	decision, _, err := a.Authorize(t.Context(), request)
	if err != nil && request.User != nil {
		t.Error(err)
	}
	return decision == authorizer.DecisionAllow
}

func TestBuiltInRules(t *testing.T) {
	t.Parallel()
	a := newAuthorizer(t, nil)
	for name, test := range map[string]struct {
		request authorizer.AttributesRecord
		want    bool
	}{
		"masters may do everything":    {resource(admin, "delete", "example.com", "things"), true},
		"others may not":               {resource(jane, "get", "example.com", "things"), false},
		"health is open":               {get(stranger, "/readyz"), true},
		"one check is not":             {get(stranger, "/readyz/etcd"), false},
		"discovery":                    {get(jane, "/apis/example.com/v1"), true},
		"discovery by a stranger":      {get(stranger, "/apis"), false},
		"OpenAPI":                      {get(jane, "/openapi/v3/apis/example.com/v1"), true},
		"metrics":                      {get(jane, "/metrics"), false},
		"metrics by a monitor":         {get(monitor, "/metrics"), true},
		"one check by a monitor":       {get(monitor, "/readyz/etcd"), true},
		"a write by a monitor":         {authorizer.AttributesRecord{User: monitor, Verb: "delete", Path: "/metrics"}, false},
		"other paths by a monitor":     {get(monitor, "/debug/pprof/heap"), false},
		"resources by a monitor":       {resource(monitor, "list", "example.com", "things"), false},
		"a review of oneself":          {resource(jane, "create", "authorization.k8s.io", "selfsubjectaccessreviews"), true},
		"who am I":                     {resource(jane, "create", "authentication.k8s.io", "selfsubjectreviews"), true},
		"a review by a stranger":       {resource(stranger, "create", "authentication.k8s.io", "selfsubjectreviews"), false},
		"a review of another user":     {resource(jane, "create", "authorization.k8s.io", "subjectaccessreviews"), false},
		"reviews cannot be read":       {resource(jane, "get", "authentication.k8s.io", "selfsubjectreviews"), false},
		"a request without a user":     {authorizer.AttributesRecord{Verb: "get", Path: "/apis"}, false},
		"a write of a discovery path":  {authorizer.AttributesRecord{User: jane, Verb: "post", Path: "/apis"}, false},
		"resources are not paths":      {resource(jane, "get", "", "api"), false},
		"masters may read any path":    {get(admin, "/metrics"), true},
		"health of an authenticated":   {get(jane, "/livez"), true},
		"the index is not discovery":   {get(jane, "/"), false},
		"version, with and without /":  {get(jane, "/version/"), true},
		"a path that begins similarly": {get(jane, "/versions"), false},
	} {
		if got := allows(t, a, test.request); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestModes(t *testing.T) {
	t.Parallel()
	request := resource(jane, "get", "example.com", "things")
	for _, test := range []struct {
		modes []string
		want  bool
	}{{nil, false}, {[]string{ModeAlwaysAllow}, true}, {[]string{ModeAlwaysDeny}, false},
		{[]string{ModeAlwaysAllow, ModeAlwaysDeny}, true}} {
		a := newAuthorizer(t, func(o *Options) { o.Modes = test.modes })
		if got := allows(t, a, request); got != test.want {
			t.Errorf("%v: %v", test.modes, got)
		}
		if !allows(t, a, get(stranger, "/healthz")) {
			t.Errorf("%v: health is refused", test.modes)
		}
	}
}

// TestOnlyModes checks that nobody but the privileged group passes modes that decide alone, as with kube-apiserver.
func TestOnlyModes(t *testing.T) {
	t.Parallel()
	a := newAuthorizer(t, func(o *Options) {
		o.Modes, o.OnlyModes, o.AlwaysAllowPaths = []string{ModeAlwaysDeny}, true, nil
	})
	for _, refused := range []authorizer.AttributesRecord{
		get(jane, "/api"), get(jane, "/version"), get(jane, "/healthz"), get(stranger, "/healthz"),
		get(monitor, "/metrics"), resource(jane, "create", "authentication.k8s.io", "selfsubjectreviews"),
	} {
		if allows(t, a, refused) {
			t.Errorf("%s may %s %s%s", refused.User.GetName(), refused.Verb, refused.Path, refused.Resource)
		}
	}
	if !allows(t, a, get(admin, "/api")) {
		t.Error("the privileged group may not read /api")
	}
}

// TestAlwaysAllowWithoutImpersonation checks that a mode that allows everything does not let a user become another
// one, who is allowed more elsewhere.
func TestAlwaysAllowWithoutImpersonation(t *testing.T) {
	t.Parallel()
	kubeconfig := startWebhook(t)
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(`{"apiVersion":"apiserver.config.k8s.io/v1","kind":"AuthorizationConfiguration",`+
		`"authorizers":[{"type":"AlwaysAllow","name":"everything"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		change func(*Options)
		jane   bool // may impersonate
	}{
		"mode": {change: func(o *Options) { o.Modes = []string{ModeAlwaysAllow} }},
		"file": {change: func(o *Options) { o.ConfigFile = file }},
		"a webhook that allows it": {jane: true, change: func(o *Options) {
			o.Modes, o.WebhookConfigFile, o.WebhookVersion = []string{ModeAlwaysAllow, ModeWebhook}, kubeconfig, "v1"
		}},
	} {
		a := newAuthorizer(t, test.change)
		for _, verb := range []string{"impersonate", "impersonate:user-info", "impersonate-on:user-info:list"} {
			if got := allows(t, a, resource(jane, verb, "", "groups")); got != test.jane {
				t.Errorf("%s: jane may %s: %v", name, verb, got)
			}
			if !allows(t, a, resource(admin, verb, "", "groups")) {
				t.Errorf("%s: the administrator may not %s", name, verb)
			}
		}
		if !allows(t, a, resource(jane, "delete", "example.com", "things")) {
			t.Errorf("%s: jane is refused", name)
		}
	}
}

// startWebhook starts a webhook that allows jane everything, and returns its kubeconfig.
func startWebhook(t *testing.T) (kubeconfig string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var review authorizationv1.SubjectAccessReview
		if err := json.NewDecoder(req.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		review.Status.Allowed = review.Spec.User == "jane"
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(&review)
	}))
	t.Cleanup(server.Close)
	config := clientcmdapi.NewConfig()
	config.Clusters["it"] = &clientcmdapi.Cluster{Server: server.URL}
	config.Contexts["it"] = &clientcmdapi.Context{Cluster: "it"}
	config.CurrentContext = "it"
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

// TestWebhookMetrics checks that calls of a webhook are counted as by kube-apiserver.
func TestWebhookMetrics(t *testing.T) {
	t.Parallel()
	a := newAuthorizer(t, func(o *Options) {
		o.Modes, o.WebhookConfigFile, o.WebhookVersion = []string{ModeWebhook}, startWebhook(t), "v1"
	})
	allows(t, a, resource(jane, "get", "example.com", "counted"))
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"webhook_evaluations_total", "webhook_duration_seconds", "decisions_total"} {
		if !slices.ContainsFunc(families, func(f *dto.MetricFamily) bool {
			return f.GetName() == "apiserver_authorization_"+name
		}) {
			t.Errorf("there is no metric %s", name)
		}
	}
}

func TestWebhookDecides(t *testing.T) {
	t.Parallel()
	kubeconfig := startWebhook(t)
	john := &user.DefaultInfo{Name: "john", Groups: []string{user.AllAuthenticated}}
	file := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(file, []byte(`{"apiVersion":"apiserver.config.k8s.io/v1","kind":"AuthorizationConfiguration",
"authorizers":[
{"type":"Webhook","name":"it","webhook":{"timeout":"3s","failurePolicy":"Deny","subjectAccessReviewVersion":"v1",
"matchConditionSubjectAccessReviewVersion":"v1","connectionInfo":{"type":"KubeConfigFile",
"kubeConfigFile":"`+kubeconfig+`"}}}]}`),
		0o600); err != nil {
		t.Fatal(err)
	}
	for name, a := range map[string]*Authorizer{
		"flags": newAuthorizer(t, func(o *Options) {
			o.Modes, o.WebhookConfigFile, o.WebhookVersion = []string{ModeWebhook}, kubeconfig, "v1"
		}),
		"file": newAuthorizer(t, func(o *Options) { o.ConfigFile = file }),
	} {
		if !allows(t, a, resource(jane, "get", "example.com", "things")) ||
			allows(t, a, resource(john, "get", "example.com", "things")) {
			t.Errorf("%s: the decision is not the webhook's", name)
		}
		if !allows(t, a, resource(admin, "get", "example.com", "things")) {
			t.Errorf("%s: the administrator is refused", name)
		}
	}
}

func TestRulesFor(t *testing.T) {
	t.Parallel()
	a := newAuthorizer(t, nil)
	resources, paths, incomplete, err := a.RulesFor(t.Context(), jane, "default")
	if err != nil || incomplete || len(resources) != len(selfReviews) {
		t.Errorf("%v, %v, %v, %v", resources, paths, incomplete, err)
	}
	for _, rule := range resources { // the rules must agree with the decisions
		if !allows(t, a, resource(jane, rule.GetVerbs()[0], rule.GetAPIGroups()[0], rule.GetResources()[0])) {
			t.Errorf("the authorizer refuses a request of the rule %v", rule)
		}
	}
	resources, _, _, _ = a.RulesFor(t.Context(), admin, "default")
	if !slices.Contains(resources, authorizer.ResourceRuleInfo(everyResource)) {
		t.Errorf("the administrator's rules are %v", resources)
	}
	resources, paths, _, _ = a.RulesFor(t.Context(), stranger, "default")
	if len(resources) != 0 || len(paths) != 1 {
		t.Errorf("a stranger's rules are %v, %v", resources, paths)
	}
	resources, paths, _, _ = a.RulesFor(t.Context(), monitor, "default")
	last := paths[len(paths)-1]
	if len(resources) != len(selfReviews) || !slices.Equal(last.GetNonResourceURLs(), monitoringPaths) {
		t.Errorf("a monitor's rules are %v, %v", resources, paths)
	}
	everything := newAuthorizer(t, func(o *Options) { o.Modes = []string{ModeAlwaysAllow} })
	resources, _, _, _ = everything.RulesFor(t.Context(), jane, "default")
	for _, rule := range resources {
		if slices.ContainsFunc(rule.GetVerbs(), func(verb string) bool { return verb == "*" || impersonates(verb) }) {
			t.Errorf("the rule %v allows impersonation", rule)
		}
	}
	asking := newAuthorizer(t, func(o *Options) { o.Modes, o.WebhookConfigFile = []string{ModeWebhook}, startWebhook(t) })
	if _, _, incomplete, _ := asking.RulesFor(t.Context(), jane, "default"); !incomplete {
		t.Error("the rules are complete although there is a webhook")
	}
}

func TestInvalidOptions(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*Options){
		`--authorization-mode: "Roles" is none of AlwaysAllow, AlwaysDeny, Webhook, RBAC, Node`: func(
			o *Options) {
			o.Modes = []string{"Roles"}
		},
		"--authorization-mode: ABAC, with its policy file, is not supported: use RBAC": func(
			o *Options) {
			o.Modes = []string{"ABAC"}
		},
		"--authorization-mode names AlwaysDeny twice": func(o *Options) {
			o.Modes = []string{ModeAlwaysDeny,
				ModeAlwaysDeny}
		},
		"--authorization-mode Webhook and --authorization-webhook-config-file need each other": func(
			o *Options) {
			o.Modes = []string{ModeWebhook}
		},
		"--authorization-config and --authorization-mode exclude each other": func(o *Options) {
			o.Modes,
				o.ConfigFile = []string{ModeAlwaysAllow}, "file"
		},
		`--authorization-webhook-version must be v1 or v1beta1, not "v2"`: func(o *Options) { o.WebhookVersion = "v2" },
	} {
		o := NewOptions()
		change(&o)
		if errs := o.Validate(); len(errs) != 1 || errs[0].Error() != want {
			t.Errorf("%v, want %s", errs, want)
		}
	}
	for _, change := range []func(*Options){
		func(o *Options) { o.ConfigFile = "/nowhere" },
		func(o *Options) { o.Kubeconfig = "/nowhere" },
		func(o *Options) { o.Modes, o.WebhookConfigFile = []string{ModeWebhook}, "/nowhere" },
		func(o *Options) { o.AlwaysAllowPaths = []string{"/a*b"} },
		func(o *Options) { o.Modes = []string{ModeRBAC} }, // without roles
	} {
		o := NewOptions()
		change(&o)
		if _, err := New(Config{Options: &o, ID: "test"}); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}
