package reviews

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/component-base/metrics"

	"github.com/crd-server/crd-server/internal/budget"
)

// decider allows requests of user "allowed" and keeps the last request.
type decider struct{ last authorizer.Attributes }

func (d *decider) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	d.last = a
	switch a.GetUser().GetName() {
	case "allowed":
		return authorizer.DecisionAllow, "because", nil
	case "denied":
		return authorizer.DecisionDeny, "", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

func (d *decider) ConditionsAwareAuthorize(ctx context.Context,
	a authorizer.Attributes) authorizer.ConditionsAwareDecision {
	return authorizer.ConditionsAwareDecisionFromParts(d.Authorize(ctx, a))
}

func (d *decider) EvaluateConditions(context.Context, authorizer.ConditionsAwareDecision,
	authorizer.ConditionsData) (authorizer.Decision, string, error) {
	return authorizer.DecisionNoOpinion, "", nil
}

func (d *decider) RulesFor(context.Context, user.Info, string) ([]authorizer.ResourceRuleInfo,
	[]authorizer.NonResourceRuleInfo, bool, error) {
	return []authorizer.ResourceRuleInfo{&authorizer.DefaultResourceRuleInfo{Verbs: []string{"get"},
			APIGroups: []string{"g"}, Resources: []string{"r"}}},
		nil, true, nil
}

// knownTokens authenticates the token "good", for the audiences that are asked for, or else for "us".
type knownTokens struct{}

func (knownTokens) AuthenticateRequest(req *http.Request) (*authenticator.Response, bool, error) {
	if _, ok := request.UserFrom(req.Context()); ok {
		return nil, false, errors.New("the request is that of the reviewer")
	}
	audiences, asked := authenticator.AudiencesFrom(req.Context())
	switch req.Header.Get("Authorization") {
	case "Bearer good":
		u := &user.DefaultInfo{Name: "jane", UID: "8", Groups: []string{"shop"}, Extra: map[string][]string{"k": {"v"}}}
		if !asked {
			audiences = nil
		}
		return &authenticator.Response{User: u, Audiences: audiences}, true, nil
	case "Bearer stray":
		return &authenticator.Response{User: &user.DefaultInfo{Name: "jane"}, Audiences: []string{"them"}}, true, nil
	case "Bearer unknown":
		return nil, false, nil
	}
	return nil, false, errors.New("invalid bearer token")
}

var infos = &request.RequestInfoFactory{APIPrefixes: sets.NewString("apis"),
	GrouplessAPIPrefixes: sets.NewString("api")}

// send sends a request of user "allowed" and returns the code and the body.
func send(t *testing.T, d *decider, method, path, body string) (int, string) {
	t.Helper()
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	return sendRequest(t, d, req)
}

// sendAs posts a body of a media type, and asks for an answer of that type.
func sendAs(t *testing.T, d *decider, media, path, body string) (int, string) {
	t.Helper()
	req := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	req.Header.Set("Content-Type", media)
	req.Header.Set("Accept", media)
	return sendRequest(t, d, req)
}

func sendRequest(t *testing.T, d *decider, req *http.Request) (int, string) {
	t.Helper()
	info, err := infos.NewRequestInfo(req)
	if err != nil {
		t.Fatal(err)
	}
	ctx := request.WithRequestInfo(req.Context(), info)
	ctx = request.WithUser(ctx, &user.DefaultInfo{Name: "allowed", UID: "7", Groups: []string{"shop"},
		Extra: map[string][]string{"k": {"v"}}})
	w := httptest.NewRecorder()
	delegate := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	New(Config{Authorizer: d, Tokens: Tokens{Request: knownTokens{}}, Delegate: delegate}).ServeHTTP(w,
		req.WithContext(ctx))
	return w.Code, w.Body.String()
}

const (
	authentication = "/apis/authentication.k8s.io/v1/"
	authorization  = "/apis/authorization.k8s.io/v1/"
)

// reviewOf returns the JSON of a review.
func reviewOf(kind, spec string) string {
	group := "authorization.k8s.io"
	if kind == "SelfSubjectReview" || kind == "TokenReview" {
		group = "authentication.k8s.io"
	}
	return `{"apiVersion":"` + group + `/v1","kind":"` + kind + `","spec":` + spec + `}`
}

func TestReviews(t *testing.T) {
	t.Parallel()
	const things = `"resourceAttributes":{"verb":"get","group":"example.com","resource":"things","namespace":"default"}`
	for name, test := range map[string]struct {
		path, body, status string
	}{
		"who am I": {authentication + "selfsubjectreviews",
			`{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`,
			`{"userInfo":{"username":"allowed","uid":"7","groups":["shop"],"extra":{"k":["v"]}}}`},
		"may I": {authorization + "selfsubjectaccessreviews", reviewOf("SelfSubjectAccessReview", `{`+things+`}`),
			`{"allowed":true,"reason":"because"}`},
		"may I read a path": {authorization + "selfsubjectaccessreviews",
			reviewOf("SelfSubjectAccessReview", `{"nonResourceAttributes":{"verb":"get","path":"/metrics"}}`),
			`{"allowed":true,"reason":"because"}`},
		"may another user": {authorization + "subjectaccessreviews",
			reviewOf("SubjectAccessReview", `{"user":"denied",`+things+`}`),
			`{"allowed":false,"denied":true}`},
		"may an unknown user": {authorization + "subjectaccessreviews",
			reviewOf("SubjectAccessReview", `{"user":"unknown",`+things+`}`),
			`{"allowed":false}`},
		"may another user in the namespace": {authorization + "namespaces/default/localsubjectaccessreviews",
			reviewOf("LocalSubjectAccessReview", `{"user":"allowed",`+things+`}`),
			`{"allowed":true,"reason":"because"}`},
		"a token": {authentication + "tokenreviews", reviewOf("TokenReview", `{"token":"good"}`),
			`{"authenticated":true,"user":{"username":"jane","uid":"8","groups":["shop"],"extra":{"k":["v"]}}}`},
		"a token for an audience": {authentication + "tokenreviews",
			reviewOf("TokenReview", `{"token":"good","audiences":["a","b"]}`),
			`{"authenticated":true,"user":{"username":"jane","uid":"8","groups":["shop"],"extra":{"k":["v"]}},` +
				`"audiences":["a","b"]}`},
		"a wrong token": {authentication + "tokenreviews", reviewOf("TokenReview", `{"token":"bad"}`),
			`{"user":{},"error":"invalid bearer token"}`},
		"an unknown token": {authentication + "tokenreviews", reviewOf("TokenReview", `{"token":"unknown"}`), `{"user":{}}`},
		"rules": {authorization + "selfsubjectrulesreviews", reviewOf("SelfSubjectRulesReview", `{"namespace":"default"}`),
			`{"resourceRules":[{"verbs":["get"],"apiGroups":["g"],"resources":["r"]}],"nonResourceRules":[],"incomplete":true}`},
		"a selector that cannot be parsed": {authorization + "selfsubjectaccessreviews",
			reviewOf("SelfSubjectAccessReview",
				`{"resourceAttributes":{"verb":"list","resource":"things","labelSelector":{"rawSelector":"a in"}}}`),
			`{"allowed":true,"reason":"because","evaluationError":"spec.resourceAttributes.labelSelector ignored due to parse ` +
				`error"}`},
	} {
		code, body := send(t, &decider{}, http.MethodPost, test.path, test.body)
		var got struct{ Status json.RawMessage }
		if err := json.Unmarshal([]byte(body), &got); err != nil || code != http.StatusCreated ||
			string(got.Status) != test.status {
			t.Errorf("%s: %d %s, want status %s", name, code, body, test.status)
		}
	}
}

func TestAttributes(t *testing.T) {
	t.Parallel()
	var d decider
	spec := `{"user":"jane","groups":["shop"],"resourceAttributes":{"verb":"list","group":"example.com",
"resource":"things","subresource":"status","name":"one",
"fieldSelector":{"requirements":[{"key":"metadata.name","operator":"In","values":["one"]},{"key":"x",
"operator":"Exists"}]},
"labelSelector":{"requirements":[{"key":"a","operator":"In","values":["b","c"]}]}}}`
	code, body := send(t, &d, http.MethodPost, authorization+"subjectaccessreviews", reviewOf("SubjectAccessReview", spec))
	if code != http.StatusCreated ||
		!strings.Contains(body, `"evaluationError":"spec.resourceAttributes.fieldSelector partially ignored due to parse `+
			`error"`) {
		t.Errorf("%d %s", code, body)
	}
	a := d.last
	if a.GetUser().GetName() != "jane" || a.GetUser().GetGroups()[0] != "shop" || a.GetVerb() != "list" ||
		a.GetAPIVersion() != "*" ||
		a.GetSubresource() != "status" || a.GetName() != "one" || !a.IsResourceRequest() {
		t.Errorf("%+v", a)
	}
	if fields, err := a.GetFieldSelector(); len(fields) != 1 || fields[0].Value != "one" || err == nil {
		t.Errorf("field selector %v, %v", fields, err)
	}
	if labels, err := a.GetLabelSelector(); len(labels) != 1 || labels[0].String() != "a in (b,c)" || err != nil {
		t.Errorf("label selector %v, %v", labels, err)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		method, path, body string
		code               int
		message            string
	}{
		"another method": {http.MethodGet, authorization + "selfsubjectaccessreviews", "", http.StatusMethodNotAllowed, ""},
		"nothing": {http.MethodPost, authorization + "selfsubjectaccessreviews",
			reviewOf("SelfSubjectAccessReview", `{}`), http.StatusUnprocessableEntity, "exactly one of"},
		"two": {http.MethodPost, authorization + "selfsubjectaccessreviews",
			reviewOf("SelfSubjectAccessReview", `{"resourceAttributes":{},"nonResourceAttributes":{}}`),
			http.StatusUnprocessableEntity, "exactly one of"},
		"no user": {http.MethodPost, authorization + "subjectaccessreviews",
			reviewOf("SubjectAccessReview", `{"resourceAttributes":{}}`), http.StatusUnprocessableEntity,
			"at least one of user or group"},
		"no namespace": {http.MethodPost, authorization + "selfsubjectrulesreviews",
			reviewOf("SelfSubjectRulesReview", `{}`), http.StatusBadRequest, "no namespace on request"},
		"namespaces": {http.MethodPost, authorization + "namespaces/a/localsubjectaccessreviews",
			reviewOf("LocalSubjectAccessReview", `{"user":"u","resourceAttributes":{"namespace":"b"}}`),
			http.StatusUnprocessableEntity, "must match metadata.namespace"},
		"local path": {http.MethodPost, authorization + "namespaces/a/localsubjectaccessreviews",
			reviewOf("LocalSubjectAccessReview", `{"user":"u","nonResourceAttributes":{}}`), http.StatusUnprocessableEntity,
			"disallowed on this kind of request"},
		"another kind": {http.MethodPost, authorization + "subjectaccessreviews", reviewOf("SelfSubjectReview", `{}`),
			http.StatusBadRequest, "SelfSubjectReview"},
		"no token": {http.MethodPost, authentication + "tokenreviews", reviewOf("TokenReview", `{}`), http.StatusBadRequest,
			"token is required for TokenReview in authentication"},
		"an authenticator that ignores audiences": {http.MethodPost, authentication + "tokenreviews",
			reviewOf("TokenReview", `{"token":"stray","audiences":["a"]}`), http.StatusInternalServerError,
			"error validating audiences"},
		"no JSON": {http.MethodPost, authorization + "subjectaccessreviews", `{`, http.StatusBadRequest, ""},
		"too large": {http.MethodPost, authorization + "subjectaccessreviews", strings.Repeat(" ", maxBody+1),
			http.StatusRequestEntityTooLarge, "limit is 3145728"},
		"a name": {http.MethodPost, authorization + "subjectaccessreviews/x", "{}", http.StatusTeapot, ""},
		"a wrong scope": {http.MethodPost, authorization + "namespaces/a/subjectaccessreviews", "{}", http.StatusTeapot,
			""},
		"other resources": {http.MethodPost, "/apis/example.com/v1/things", "{}", http.StatusTeapot, ""},
	} {
		if code, body := send(t, &decider{}, test.method, test.path, test.body); code != test.code ||
			!strings.Contains(body, test.message) {
			t.Errorf("%s: %d %s", name, code, body)
		}
	}
}

// TestRefusalsAreReported checks that a review that is too large is counted as one that exceeds its budget.
func TestRefusalsAreReported(t *testing.T) {
	registry := metrics.NewKubeRegistry()
	registry.MustRegister(budget.Metrics...)
	before := exceeded(t, registry)
	code, answer := send(t, &decider{}, "POST", authorization+"selfsubjectaccessreviews", strings.Repeat(" ", maxBody+1))
	if code != http.StatusRequestEntityTooLarge {
		t.Errorf("%d %s", code, answer)
	}
	if got := exceeded(t, registry) - before; got != 1 {
		t.Errorf("%v requests were reported", got)
	}
}

// exceeded returns how many requests were reported as too large.
func exceeded(t *testing.T, registry metrics.KubeRegistry) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var count float64
	for _, family := range families {
		if family.GetName() == "crd_server_request_budget_exceeded_total" {
			for _, metric := range family.GetMetric() {
				count += metric.GetCounter().GetValue()
			}
		}
	}
	return count
}

// TestProtobuf checks that reviews are read and answered in protobuf too, which client-go's clients prefer.
func TestProtobuf(t *testing.T) {
	t.Parallel()
	review := &authorizationv1.SubjectAccessReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SubjectAccessReview"},
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "allowed", ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "get", Resource: "things"},
		},
	}
	serializer := protobuf.NewSerializer(scheme, scheme)
	body, err := runtime.Encode(serializer, review)
	if err != nil {
		t.Fatal(err)
	}
	code, answer := sendAs(t, &decider{}, runtime.ContentTypeProtobuf, authorization+"subjectaccessreviews", string(body))
	got, _, err := serializer.Decode([]byte(answer), nil, nil)
	if err != nil || code != http.StatusCreated {
		t.Fatalf("%d %q: %v", code, answer, err)
	}
	if status := got.(*authorizationv1.SubjectAccessReview).Status; !status.Allowed || status.Reason != "because" {
		t.Errorf("%+v", status)
	}
}
