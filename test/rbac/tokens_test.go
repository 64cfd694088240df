package rbac

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"maps"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/keyutil"
)

// forger makes tokens of the account robot that the server has not issued, with the key that it signs with.
type forger struct {
	*testing.T
	key *ecdsa.PrivateKey
	// keyID and claims are those of a token that the server has issued.
	keyID  string
	claims jwt.MapClaims
}

// newForger steals the key of a server.
func newForger(t *testing.T, s *server) *forger {
	t.Helper()
	key, err := keyutil.PrivateKeyFromFile(s.signingKey)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.createAccount(t.Context(), inNamespace, "robot"); err != nil {
		t.Fatal(err)
	}
	f := &forger{T: t, key: key.(*ecdsa.PrivateKey), claims: jwt.MapClaims{}}
	issued, _, err := jwt.NewParser().ParseUnverified(s.tokened(t, inNamespace, "robot").BearerToken, f.claims)
	if err != nil {
		t.Fatal(err)
	}
	f.keyID, _ = issued.Header["kid"].(string)
	return f
}

// sign signs the claims of the issued token with some changes. A claim that is nil is left out.
func (f *forger) sign(method jwt.SigningMethod, key any, changes jwt.MapClaims) string {
	f.Helper()
	claims := maps.Clone(f.claims)
	maps.Copy(claims, changes)
	maps.DeleteFunc(claims, func(_ string, value any) bool { return value == nil })
	token := jwt.NewWithClaims(method, claims)
	token.Header["kid"] = f.keyID
	signed, err := token.SignedString(key)
	if err != nil {
		f.Fatal(err)
	}
	return signed
}

// private returns the change of one of the claims about the account.
func (f *forger) private(name string, value any) jwt.MapClaims {
	claims := maps.Clone(f.claims["kubernetes.io"].(map[string]any))
	claims[name] = value
	return jwt.MapClaims{"kubernetes.io": claims}
}

// forgedTokens returns tokens, which are refused unless they are in accepted.
func (f *forger) forgedTokens() map[string]string {
	with := func(changes jwt.MapClaims) string { return f.sign(jwt.SigningMethodES256, f.key, changes) }
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(crypto.PublicKey(&f.key.PublicKey))
	if err != nil {
		f.Fatal(err)
	}
	hour, now := int64(time.Hour/time.Second), time.Now().Unix()
	named := func(name, uid string) map[string]any { return map[string]any{"name": name, "uid": uid} }
	return map[string]string{
		"as it was issued":              with(nil),
		"another key":                   f.sign(jwt.SigningMethodES256, other, nil),
		"the public key as a secret":    f.sign(jwt.SigningMethodHS256, public, nil),
		"no algorithm":                  f.sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, nil),
		"another issuer":                with(jwt.MapClaims{"iss": "https://example.com"}),
		"no issuer":                     with(jwt.MapClaims{"iss": nil}),
		"an old issuer":                 with(jwt.MapClaims{"iss": "kubernetes/serviceaccount"}),
		"another audience":              with(jwt.MapClaims{"aud": []string{"vault"}}),
		"no audience":                   with(jwt.MapClaims{"aud": nil}),
		"an audience more":              with(jwt.MapClaims{"aud": []any{"vault", f.claims["iss"]}}),
		"expired":                       with(jwt.MapClaims{"exp": now - hour, "nbf": now - 2*hour}),
		"expired, at the first second":  with(jwt.MapClaims{"exp": 0}),
		"never expires":                 with(jwt.MapClaims{"exp": nil}),
		"not yet valid":                 with(jwt.MapClaims{"nbf": now + hour, "exp": now + 2*hour}),
		"issued later":                  with(jwt.MapClaims{"iat": now + hour}),
		"a time that is none":           with(jwt.MapClaims{"exp": "tomorrow"}),
		"no claims about the account":   with(jwt.MapClaims{"kubernetes.io": nil}),
		"another subject":               with(jwt.MapClaims{"sub": "system:serviceaccount:kube-system:default"}),
		"a user":                        with(jwt.MapClaims{"sub": "admin"}),
		"an account of an earlier life": with(f.private("serviceaccount", named("robot", "7"))),
		"another account":               with(f.private("serviceaccount", named("default", "7"))),
		"an account without a UID":      with(f.private("serviceaccount", named("robot", ""))),
		"no account":                    with(f.private("serviceaccount", nil)),
		"another namespace":             with(f.private("namespace", "kube-system")),
		"no namespace":                  with(f.private("namespace", "")),
		"bound to a Secret":             with(f.private("secret", named("none", "7"))),
		"bound to a pod":                with(f.private("pod", named("none", "7"))),
		"bound to a node":               with(f.private("node", named("none", "7"))),
	}
}

// accepted are the forged tokens that both servers accept: who has the key can issue tokens. The user is the one of the
// private claims, whatever the subject is.
var accepted = map[string]bool{
	"as it was issued": true, "an audience more": true, "never expires": true, "another subject": true, "a user": true,
}

// withoutAudience is accepted by kube-apiserver only, whose tokens had no audience once. docs/conformance.md lists it.
const withoutAudience = "no audience"

// TestForgedTokens presents forged tokens to our server.
func TestForgedTokens(t *testing.T) {
	t.Parallel()
	if *upstream {
		t.Skip("with -upstream, TestDifferentialForgedTokens presents them to kube-apiserver too")
	}
	s := startOurs(t)
	for name, token := range newForger(t, s).forgedTokens() {
		if got := s.whoIs(t, token); (got != "") != accepted[name] {
			t.Errorf("a token, %s, is of %q", name, got)
		}
	}
}

// TestDifferentialForgedTokens presents forged tokens to both servers.
func TestDifferentialForgedTokens(t *testing.T) {
	if !*upstream {
		t.Skip("without -upstream")
	}
	ours, theirs := startOurs(t), startTheirs(t)
	expected := newForger(t, theirs).forgedTokens()
	for name, token := range newForger(t, ours).forgedTokens() {
		got, want := ours.whoIs(t, token), theirs.whoIs(t, expected[name])
		if name == withoutAudience {
			want = ""
		}
		if got != want || (want != "") != accepted[name] {
			t.Errorf("a token, %s, is of %q, to kube-apiserver of %q", name, got, want)
		}
	}
}

// whoIs returns the user of a token, or nothing if the server refuses it.
func (s *server) whoIs(t *testing.T, token string) string {
	t.Helper()
	config := rest.AnonymousClientConfig(s.config)
	config.BearerToken = token
	review, err := kubernetes.NewForConfigOrDie(config).AuthenticationV1().SelfSubjectReviews().
		Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if apierrors.IsUnauthorized(err) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	return review.Status.UserInfo.Username
}
