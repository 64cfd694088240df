package server

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/crd-server/crd-server/internal/server/certs"
)

// issuer is an OpenID Connect issuer.
type issuer struct {
	*httptest.Server
	key *rsa.PrivateKey
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	i := &issuer{key: key}
	encode := base64.RawURLEncoding.EncodeToString
	i.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch req.URL.Path {
		case "/.well-known/openid-configuration":
			fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, i.URL, i.URL+"/keys")
		case "/keys":
			fmt.Fprintf(w, `{"keys":[{"kty":"RSA","use":"sig","alg":"RS256","kid":"k","n":%q,"e":%q}]}`,
				encode(key.N.Bytes()), encode(big.NewInt(int64(key.E)).Bytes()))
		}
	}))
	t.Cleanup(i.Close)
	return i
}

// token returns the Authorization header of a token that is signed with the key. It has the claims of jane, replaced by
// other where that has them.
func (i *issuer) token(t *testing.T, key *rsa.PrivateKey, other map[string]any) string {
	t.Helper()
	claims := map[string]any{
		"iss": i.URL, "aud": "crd", "sub": "jane", "teams": []string{"shop"}, "exp": time.Now().Add(time.Hour).Unix(),
	}
	maps.Copy(claims, other)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: key, KeyID: "k"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return "Bearer " + signed
}

// whoami returns the user and groups as which the server authenticates p, or "" if the server responds with 401. If it
// responds with 403, whoami returns the message.
func (p *person) whoami() string {
	p.t.Helper()
	got := p.send(http.MethodPost, "/apis/authentication.k8s.io/v1/selfsubjectreviews",
		`{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`)
	if got.code == http.StatusUnauthorized && got.status(p.t).Reason == "Unauthorized" {
		return ""
	}
	if got.code == http.StatusForbidden { // the anonymous user is not authenticated
		return got.status(p.t).Message
	}
	var review struct {
		Status struct {
			UserInfo struct {
				Username, UID string
				Groups        []string
				Extra         map[string][]string
			}
		}
	}
	if err := json.Unmarshal([]byte(got.body), &review); err != nil || got.code != http.StatusCreated {
		p.t.Fatalf("got %d %s", got.code, got.body)
	}
	who := review.Status.UserInfo
	text := who.Username + " " + strings.Join(who.Groups, ",")
	if who.UID != "" {
		text += " " + who.UID
	}
	if team := who.Extra["team"]; team != nil {
		text += fmt.Sprint(" ", team)
	}
	return text
}

// signedBy returns a user with a certificate of the given authority instead of the server's.
func (s *testServer) signedBy(issuer certs.Issuer, name string) *person {
	s.t.Helper()
	leaf, _ := clientOf(s.t, issuer, name)
	client, url := s.withCertificate(leaf)
	return &person{t: s.t, client: client, url: url}
}

// reviewOfToken is the path of TokenReviews.
const reviewOfToken = "/apis/authentication.k8s.io/v1/tokenreviews"

// reviewToken responds to TokenReviews as webhooks and host clusters do. It authenticates the token "asked".
func reviewToken(_ string, review map[string]any) map[string]any {
	status := map[string]any{"authenticated": false}
	if spec := review["spec"].(map[string]any); spec["token"] == "asked" {
		status = map[string]any{"authenticated": true, "user": map[string]any{"username": "web", "groups": []string{"hook"}}}
	}
	review["status"] = status
	return review
}

// TestAuthentication checks valid and invalid credentials of every kind.
func TestAuthentication(t *testing.T) {
	t.Parallel()
	ofProxies, ofClients, ofNobody := certs.Issuer{Dir: newDataDir(t), Now: time.Now},
		certs.Issuer{Dir: newDataDir(t), Now: time.Now}, certs.Issuer{Dir: newDataDir(t), Now: time.Now}
	proxyCA, err := ofProxies.Authority()
	if err != nil {
		t.Fatal(err)
	}
	clientCA, err := ofClients.Authority()
	if err != nil {
		t.Fatal(err)
	}
	issues, webhook := newIssuer(t), newHost(t)
	webhook.answer = reviewToken
	stranger, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	s := startWhole(t,
		"--client-ca-file", clientCA.CertFile,
		"--requestheader-client-ca-file", proxyCA.CertFile, "--requestheader-allowed-names", "front",
		"--requestheader-username-headers", "X-Remote-User", "--requestheader-uid-headers", "X-Remote-Uid",
		"--requestheader-group-headers", "X-Remote-Group", "--requestheader-extra-headers-prefix", "X-Remote-Extra-",
		"--token-auth-file", written(t, "tokens", "secret,bob,17,\"dev,ops\"\n"),
		"--oidc-issuer-url", issues.URL, "--oidc-client-id", "crd", "--oidc-ca-file",
		written(t, "ca", string(authorityOf(issues.Server))),
		"--oidc-username-prefix", "sso:", "--oidc-groups-claim", "teams", "--oidc-groups-prefix", "sso:",
		"--authentication-token-webhook-config-file", kubeconfigOf(t, webhook.Server),
		"--authentication-token-webhook-version", "v1",
	)
	nobody := s.person("")
	bearer := func(token string) *person { return nobody.with("Authorization", "Bearer "+token) }
	signed := func(key *rsa.PrivateKey, other map[string]any) *person {
		return nobody.with("Authorization", issues.token(t, key, other))
	}
	waitUntil(t, "the issuer's keys have been read", func() bool { return signed(issues.key, nil).whoami() != "" })
	remote := []string{"X-Remote-User", "ann", "X-Remote-Group", "a", "X-Remote-Group", "b", "X-Remote-Uid", "7",
		"X-Remote-Extra-Team", "red"}
	front := s.signedBy(ofProxies, "front")
	for _, test := range []struct {
		how  string
		is   *person
		want string
	}{
		{"nothing", nobody, ""},
		{"a certificate of the generated authority", s.person("root", "system:masters"),
			"root system:masters,system:authenticated"},
		{"a certificate of --client-ca-file", s.signedBy(ofClients, "carl"), "carl system:authenticated"},
		{"a certificate of an unknown authority", s.signedBy(ofNobody, "root"), ""},
		{"a front proxy's headers", front.with(remote...), "ann a,b,system:authenticated 7 [red]"},
		{"a front proxy's certificate without headers", front, ""},
		{"headers of a proxy of another name", s.signedBy(ofProxies, "behind").with(remote...), ""},
		{"headers without a certificate", nobody.with(remote...), ""},
		{"headers with a client's certificate", s.signedBy(ofClients, "carl").with(remote...), "carl system:authenticated"},
		{"headers with a certificate of an unknown authority", s.signedBy(ofNobody, "front").with(remote...), ""},
		{"a token of the file", bearer("secret"), "bob dev,ops,system:authenticated 17"},
		{"an unknown token", bearer("secrets"), ""},
		{"an empty token", bearer(""), ""},
		{"basic authentication", nobody.with("Authorization", "Basic Ym9iOnNlY3JldA=="), ""},
		{"a token of the issuer", signed(issues.key, nil), "sso:jane sso:shop,system:authenticated"},
		{"a token that has expired", signed(issues.key, map[string]any{"exp": time.Now().Add(-time.Hour).Unix()}), ""},
		{"a token for another audience", signed(issues.key, map[string]any{"aud": "other"}), ""},
		{"a token of another issuer", signed(issues.key, map[string]any{"iss": "https://other.example.com"}), ""},
		{"a token that is signed with another key", signed(stranger, nil), ""},
		{"a token of the webhook", bearer("asked"), "web hook,system:authenticated"},
		{"a wrong token with a right certificate", s.person("root", "system:masters").with("Authorization", "Bearer wrong"),
			"root system:masters,system:authenticated"},
	} {
		if got := test.is.whoami(); got != test.want {
			t.Errorf("%s: got %q, want %q", test.how, got, test.want)
		}
	}
}

// TestIssuersAreReloaded checks that issuers are read from a configuration file, and read again when it changes.
func TestIssuersAreReloaded(t *testing.T) {
	t.Parallel()
	issues := newIssuer(t)
	config := func(prefix string) string {
		return fmt.Sprintf(`{"apiVersion":"apiserver.config.k8s.io/v1","kind":"AuthenticationConfiguration",
"jwt":[{"issuer":{"url":%q,"audiences":["crd"],"certificateAuthority":%q},
"claimMappings":{"username":{"expression":"'%s' + claims.sub"},"groups":{"expression":"claims.teams"}},
"claimValidationRules":[{"expression":"claims.sub != 'mallory'","message":"not you"}]}],
"anonymous":{"enabled":true,"conditions":[{"path":"/version"}]}}`, issues.URL, authorityOf(issues.Server), prefix)
	}
	file := written(t, "config.json", config("one:"))
	s := startWhole(t, "--authentication-config", file)
	jane := s.person("").with("Authorization", issues.token(t, issues.key, nil))
	waitUntil(t, "the issuer's keys have been read",
		func() bool { return jane.whoami() == "one:jane shop,system:authenticated" })
	if got := s.person("").with("Authorization",
		issues.token(t, issues.key, map[string]any{"sub": "mallory"})).whoami(); got != "" {
		t.Errorf("mallory is %s", got)
	}
	// the role system:public-info-viewer allows it
	if got := s.person("").send(http.MethodGet, "/version", ""); got.code != http.StatusOK {
		t.Errorf("anonymous on /version: %d", got.code)
	}
	if got := s.person("").send(http.MethodGet, "/apis", ""); got.code != http.StatusUnauthorized {
		t.Errorf("anonymous on /apis: %d", got.code)
	}
	write(t, file+".new", config("two:"))
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
	late := s.person("").with("Authorization", issues.token(t, issues.key, map[string]any{"jti": "another"}))
	waitUntil(t, "the changed file is in effect",
		func() bool { return late.whoami() == "two:jane shop,system:authenticated" })
}

// TestHostClusterAuthenticates checks that a host cluster provides the authorities of front proxies and clients,
// authenticates tokens, and authorizes requests.
func TestHostClusterAuthenticates(t *testing.T) {
	t.Parallel()
	ofProxies, ofClients := certs.Issuer{Dir: newDataDir(t), Now: time.Now},
		certs.Issuer{Dir: newDataDir(t), Now: time.Now}
	read := func(issuer certs.Issuer) string {
		authority, err := issuer.Authority()
		if err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(authority.CertFile)
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	h := newHost(t)
	h.put("/api/v1/namespaces/kube-system/configmaps", fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap",
"metadata":{"name":"extension-apiserver-authentication","namespace":"kube-system","resourceVersion":"1"},"data":{
"client-ca-file":%q,"requestheader-client-ca-file":%q,"requestheader-allowed-names":"[\"front\"]",
"requestheader-username-headers":"[\"X-Remote-User\"]","requestheader-group-headers":"[\"X-Remote-Group\"]",
"requestheader-uid-headers":"[\"X-Remote-Uid\"]","requestheader-extra-headers-prefix":"[\"X-Remote-Extra-\"]"}}`,
		read(ofClients), read(ofProxies)))
	h.answer = func(path string, object map[string]any) map[string]any {
		if path == reviewOfToken {
			return reviewToken(path, object)
		}
		spec := object["spec"].(map[string]any)
		resource, _ := spec["resourceAttributes"].(map[string]any)
		object["status"] = map[string]any{"allowed": spec["user"] == "ann" && resource["verb"] == "list"}
		return object
	}
	file := kubeconfigOf(t, h.Server)
	s := startWhole(t, "--authentication-kubeconfig", file, "--authorization-kubeconfig", file)
	ann := s.signedBy(ofProxies, "front").with("X-Remote-User", "ann", "X-Remote-Group", "a")
	for _, test := range []struct {
		how  string
		is   *person
		want string
	}{
		{"a front proxy", ann, "ann a,system:authenticated"},
		{"a forged header", s.person("").with("X-Remote-User", "ann"), ""},
		{"another proxy", s.signedBy(ofProxies, "other").with("X-Remote-User", "ann"), ""},
		{"a client of the host", s.signedBy(ofClients, "carl"), "carl system:authenticated"},
		{"a token of the host", s.person("").with("Authorization", "Bearer asked"), "web hook,system:authenticated"},
		{"a wrong token", s.person("").with("Authorization", "Bearer wrong"), ""},
		{"the admin", s.root(), "root system:masters,system:authenticated"},
	} {
		if got := test.is.whoami(); got != test.want {
			t.Errorf("%s: got %q, want %q", test.how, got, test.want)
		}
	}
	s.root().withTables()
	ann.must(http.StatusOK, http.MethodGet, tablesPath, "")
	ann.must(http.StatusForbidden, http.MethodPost, tablesPath, table("a", 4))
	s.signedBy(ofClients, "carl").must(http.StatusForbidden, http.MethodGet, tablesPath, "")
}
