package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	authenticationv1 "k8s.io/api/authentication/v1"
)

const accountsPath = "/api/v1/namespaces/default/serviceaccounts"

// token asks for a token of an account, and returns the answer. spec is the JSON of the request's spec.
func (p *person) token(account, spec string) *authenticationv1.TokenRequest {
	p.t.Helper()
	request := &authenticationv1.TokenRequest{}
	got := p.must(http.StatusCreated, http.MethodPost, accountsPath+"/"+account+"/token", `{"spec":`+spec+`}`)
	if err := json.Unmarshal([]byte(got.body), request); err != nil {
		p.t.Fatal(err)
	}
	return request
}

// bearer returns a user with a token only.
func (s *testServer) bearer(token string) *person {
	return s.person("").with("Authorization", "Bearer "+token)
}

// claimsOf returns the claims of a token that a key of the server has signed.
func (p *person) claimsOf(token string) map[string]any {
	p.t.Helper()
	keys := jose.JSONWebKeySet{}
	if err := json.Unmarshal([]byte(p.must(http.StatusOK, http.MethodGet, "/openid/v1/jwks", "").body),
		&keys); err != nil {
		p.t.Fatal(err)
	}
	parsed, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.ES256, jose.RS256})
	if err != nil {
		p.t.Fatal(err)
	}
	claims := map[string]any{}
	if err := parsed.Claims(keys, &claims); err != nil {
		p.t.Fatal(err)
	}
	return claims
}

func (p *person) createAccount(name string) {
	p.t.Helper()
	p.must(http.StatusCreated, http.MethodPost, accountsPath, `{"metadata":{"name":"`+name+`"}}`)
}

// uidOf returns the UID of an object.
func (p *person) uidOf(path string) string {
	p.t.Helper()
	var object struct{ Metadata struct{ UID string } }
	if err := json.Unmarshal([]byte(p.must(http.StatusOK, http.MethodGet, path, "").body), &object); err != nil {
		p.t.Fatal(err)
	}
	return object.Metadata.UID
}

func TestTokensOfServiceAccounts(t *testing.T) {
	t.Parallel()
	s := startWhole(t)
	root := s.root()
	root.createAccount("robot")
	request := root.token("robot", `{}`)
	uid := root.uidOf(accountsPath + "/robot")
	if *request.Spec.ExpirationSeconds != 3600 ||
		fmt.Sprint(request.Spec.Audiences) != "[https://kubernetes.default.svc.cluster.local]" ||
		request.Name != "robot" || request.Namespace != "default" || string(request.UID) != uid ||
		request.Kind != "TokenRequest" || request.APIVersion != "authentication.k8s.io/v1" {
		t.Errorf("got %+v", request)
	}
	if fields := request.ManagedFields; len(fields) != 1 || fields[0].Subresource != "token" {
		t.Errorf("managed fields are %v", fields)
	}
	claims := root.claimsOf(request.Status.Token)
	for name, want := range map[string]string{
		"iss":           "https://kubernetes.default.svc.cluster.local",
		"aud":           "[https://kubernetes.default.svc.cluster.local]",
		"sub":           "system:serviceaccount:default:robot",
		"kubernetes.io": "map[namespace:default serviceaccount:map[name:robot uid:" + uid + "]]",
	} {
		if got := fmt.Sprint(claims[name]); got != want {
			t.Errorf("claim %s is %s, want %s", name, got, want)
		}
	}
	if claims["exp"].(float64)-claims["iat"].(float64) != 3600 || claims["nbf"] != claims["iat"] {
		t.Errorf("the token is valid from %v to %v", claims["nbf"], claims["exp"])
	}
	want := "system:serviceaccount:default:robot " +
		"system:serviceaccounts,system:serviceaccounts:default,system:authenticated " +
		uid
	robot := s.bearer(request.Status.Token)
	if got := robot.whoami(); got != want {
		t.Errorf("the token is of %q, want %q", got, want)
	}
	got := robot.must(http.StatusCreated, http.MethodPost, "/apis/authentication.k8s.io/v1/selfsubjectreviews", "{}")
	if extra := `"extra":{"authentication.kubernetes.io/credential-id":["JTI=` + claims["jti"].(string) +
		`"]}`; !strings.Contains(got.body, extra) {
		t.Errorf("the user is %s, want %s", got.body, extra)
	}
}

// TestDeletionEndsTokens checks that a token is refused at once when its account or the object it is bound to is gone.
func TestDeletionEndsTokens(t *testing.T) {
	t.Parallel()
	const secrets = "/api/v1/namespaces/default/secrets"
	s := startWhole(t)
	root := s.root()
	root.createAccount("robot")
	root.must(http.StatusCreated, http.MethodPost, secrets, `{"metadata":{"name":"session"}}`)
	bound := `{"boundObjectRef":{"kind":"Secret","apiVersion":"v1","name":"session"}}`
	plain, session := root.token("robot", `{}`).Status.Token, root.token("robot", bound).Status.Token
	if claims := root.claimsOf(session)["kubernetes.io"]; !strings.Contains(fmt.Sprint(claims),
		"secret:map[name:session uid:"+root.uidOf(secrets+"/session")+"]") {
		t.Errorf("the claims are %v", claims)
	}
	for name, token := range map[string]string{"plain": plain, "bound": session} {
		if s.bearer(token).whoami() == "" {
			t.Errorf("the %s token is refused", name)
		}
	}
	root.must(http.StatusOK, http.MethodDelete, secrets+"/session", "")
	root.must(http.StatusCreated, http.MethodPost, secrets, `{"metadata":{"name":"session"}}`)
	if got := s.bearer(session).whoami(); got != "" {
		t.Errorf("the token of a deleted Secret is %s", got)
	}
	if s.bearer(plain).whoami() == "" {
		t.Error("the deletion of a Secret ends another token")
	}
	root.must(http.StatusOK, http.MethodDelete, accountsPath+"/robot", "")
	if got := s.bearer(plain).whoami(); got != "" {
		t.Errorf("the token of a deleted account is %s", got)
	}
	root.createAccount("robot")
	if got := s.bearer(plain).whoami(); got != "" {
		t.Errorf("the token of an account that was created again is %s", got)
	}
}

func TestTokenRequestsAreRefused(t *testing.T) {
	t.Parallel()
	s := startWhole(t, "--service-account-max-token-expiration", "2h")
	root := s.root()
	root.createAccount("robot")
	const path = accountsPath + "/robot/token"
	for _, test := range []struct {
		path, body string
		code       int
		message    string
	}{
		{accountsPath + "/none/token", `{}`, 404, `serviceaccounts "none" not found`},
		{"/api/v1/namespaces/none/serviceaccounts/robot/token", `{}`, 404, `namespaces "none" not found`},
		{path, `{"metadata":{"name":"other"}}`, 422,
			"metadata.name: Invalid value: \"other\": must match the service account name if specified"},
		{path, `{"metadata":{"namespace":"other"}}`, 400,
			"the namespace of the provided object does not match the namespace sent on the request"},
		{path, `{"metadata":{"uid":"7"}}`, 409, "the UID in the token request (7) does not match the UID of the service " +
			"account ("},
		{path, `{"spec":{"expirationSeconds":599}}`, 422,
			"spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes"},
		{path, `{"spec":{"expirationSeconds":4294967297}}`, 422, "may not specify a duration larger than 2^32 seconds"},
		{path, `{"spec":{"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"a"}}}`, 404, `pods "a" not found`},
		{path, `{"spec":{"boundObjectRef":{"kind":"Node","apiVersion":"v1","name":"a"}}}`, 404, `nodes "a" not found`},
		{path, `{"spec":{"boundObjectRef":{"kind":"Secret","apiVersion":"v1","name":"a"}}}`, 404, `secrets "a" not found`},
		{path, `{"spec":{"boundObjectRef":{"kind":"ConfigMap","apiVersion":"v1","name":"a"}}}`, 400,
			"cannot bind token to object of type /v1, Kind=ConfigMap"},
		{path, `{"apiVersion":"v1","kind":"Secret"}`, 400, "cannot be handled as a TokenRequest"},
	} {
		got := root.must(test.code, http.MethodPost, test.path, test.body)
		if message := got.status(t).Message; !strings.Contains(message, test.message) {
			t.Errorf("%s %s: %s, want %s", test.path, test.body, message, test.message)
		}
	}
	root.must(http.StatusMethodNotAllowed, http.MethodGet, path, "")
	long := root.must(http.StatusCreated, http.MethodPost, path, `{"spec":{"expirationSeconds":10000}}`)
	if got := long.header.Get("Warning"); !strings.Contains(got,
		"requested expiration of 10000 seconds shortened to 7200 seconds") {
		t.Errorf("the warning is %q", got)
	}
}

// TestForeignTokensAreRefused checks that nobody else can make a token that is accepted.
func TestForeignTokensAreRefused(t *testing.T) {
	t.Parallel()
	s := startWhole(t)
	root := s.root()
	root.createAccount("robot")
	good := root.token("robot", `{}`).Status.Token
	if s.bearer(good).whoami() == "" {
		t.Fatal("the token is refused")
	}
	public := jose.JSONWebKeySet{}
	if err := json.Unmarshal([]byte(root.must(http.StatusOK, http.MethodGet, "/openid/v1/jwks", "").body),
		&public); err != nil {
		t.Fatal(err)
	}
	published, err := json.Marshal(public.Keys[0])
	if err != nil {
		t.Fatal(err)
	}
	claims, parts := root.claimsOf(good), strings.Split(good, ".")
	forged := func(algorithm jose.SignatureAlgorithm, key any) string {
		signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, nil)
		if err != nil {
			t.Fatal(err)
		}
		token, err := jwt.Signed(signer).Claims(claims).Serialize()
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	const none = "eyJhbGciOiJub25lIn0" // {"alg":"none"}
	for name, token := range map[string]string{
		"another key": forged(jose.ES256, newAccountKey(t, "").key),
		"another key with a known ID": forged(jose.ES256,
			jose.JSONWebKey{Key: newAccountKey(t, "").key, KeyID: public.Keys[0].KeyID}),
		"another key with an unknown ID": forged(jose.ES256, jose.JSONWebKey{Key: newAccountKey(t, "").key, KeyID: "x"}),
		"the public key as a secret":     forged(jose.HS256, jose.JSONWebKey{Key: published, KeyID: public.Keys[0].KeyID}),
		"no signature":                   parts[0] + "." + parts[1] + ".",
		"no algorithm":                   none + "." + parts[1] + ".",
		"other claims": parts[0] + "." + strings.Split(forged(jose.HS256, published), ".")[1] + "." +
			parts[2][1:],
		"another audience": root.token("robot", `{"audiences":["other"]}`).Status.Token,
	} {
		if got := s.bearer(token).whoami(); got != "" {
			t.Errorf("a token with %s is %s", name, got)
		}
	}
}

func TestIssuerIsPublished(t *testing.T) {
	t.Parallel()
	s := startWhole(t)
	got := s.root().must(http.StatusOK, http.MethodGet, "/.well-known/openid-configuration", "")
	want := `{"issuer":"https://kubernetes.default.svc.cluster.local","jwks_uri":"` + s.root().url + `/openid/v1/jwks",` +
		`"response_types_supported":["id_token"],"subject_types_supported":["public"],` +
		`"id_token_signing_alg_values_supported":["ES256"]}`
	if got.body != want || got.header.Get("Content-Type") != "application/json" ||
		got.header.Get("Cache-Control") != "public, max-age=3600" {
		t.Errorf("got %s %v", got.body, got.header)
	}
	got = s.root().must(http.StatusOK, http.MethodGet, "/openid/v1/jwks", "")
	if got.header.Get("Content-Type") != "application/jwk-set+json" ||
		got.header.Get("Cache-Control") != "public, max-age=3600" {
		t.Errorf("got %v", got.header)
	}
	if strings.Contains(got.body, `"d":`) {
		t.Error("the private key is published")
	}
}

// TestNamespacesGetAccounts checks that each namespace has its account and its root certificate, whatever happens.
func TestNamespacesGetAccounts(t *testing.T) {
	t.Parallel()
	s := startWhole(t)
	root := s.root()
	trust, err := os.ReadFile(filepath.Join(s.options.DataDir, "pki", "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := json.Marshal(string(trust))
	if err != nil {
		t.Fatal(err)
	}
	root.createNamespace("late")
	for _, namespace := range []string{"default", "kube-system", "late"} {
		root.becomes(http.StatusOK, "/api/v1/namespaces/"+namespace+"/serviceaccounts/default", `"name":"default"`)
		root.becomes(http.StatusOK, "/api/v1/namespaces/"+namespace+"/configmaps/kube-root-ca.crt", `"ca.crt":`+
			string(certificate))
	}
	const published, account = "/api/v1/namespaces/late/configmaps/kube-root-ca.crt",
		"/api/v1/namespaces/late/serviceaccounts/default"
	root.must(http.StatusOK, http.MethodPatch, published, `{"data":{"ca.crt":"mine","b":"c"}}`, mergePatch...)
	root.becomes(http.StatusOK, published, `"data":{"ca.crt":`+string(certificate)+`}`)
	root.must(http.StatusOK, http.MethodDelete, published, "")
	root.becomes(http.StatusOK, published, string(certificate))
	before := root.uidOf(account)
	root.must(http.StatusOK, http.MethodDelete, account, "")
	root.becomes(http.StatusOK, account, `"name":"default"`)
	if root.uidOf(account) == before {
		t.Error("the account was not deleted")
	}
	root.must(http.StatusOK, http.MethodDelete, "/api/v1/namespaces/late", "")
	root.becomes(http.StatusNotFound, "/api/v1/namespaces/late", "")
}
