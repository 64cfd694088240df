package serviceaccounts

import (
	"crypto"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
)

// secretRef is the Secret with the token of the robot.
var secretRef = ObjectRef{"secrets", "ns", "session"}

// legacyOf are the claims that kube-controller-manager gives a token in a Secret.
func legacyOf() map[string]any {
	return map[string]any{
		"iss":                                    legacyIssuer,
		"sub":                                    "system:serviceaccount:ns:robot",
		"kubernetes.io/serviceaccount/namespace": "ns",
		"kubernetes.io/serviceaccount/secret.name":          "session",
		"kubernetes.io/serviceaccount/service-account.name": "robot",
		"kubernetes.io/serviceaccount/service-account.uid":  "uid-robot",
	}
}

// put signs claims and puts the token into the Secret.
func (c *cluster) put(t testing.TB, key crypto.Signer, claims map[string]any) string {
	t.Helper()
	signer, err := newSigner(key)
	if err != nil {
		t.Fatal(err)
	}
	token, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	c.secret().Type = corev1.SecretTypeServiceAccountToken
	c.secret().Data = map[string][]byte{corev1.ServiceAccountTokenKey: []byte(token)}
	return token
}

func (c *cluster) secret() *corev1.Secret { return c.objects[secretRef].(*corev1.Secret) }

func (c *cluster) account() *corev1.ServiceAccount { return c.objects[robot].(*corev1.ServiceAccount) }

// TestLegacyTokens changes one thing after a token was put into a Secret.
func TestLegacyTokens(t *testing.T) {
	t.Parallel()
	const invalidated = "the token in secret ns/session for service account ns/robot has been marked invalid. " +
		"Use tokens from the TokenRequest API or manually created secret-based tokens, or remove the " +
		"'kubernetes.io/legacy-token-invalid-since' label from the secret to temporarily allow use of this token"
	for _, test := range []struct {
		name   string
		change func(*cluster)
		err    string
		used   bool // whether the use is recorded
	}{
		{"nothing", func(*cluster) {}, "", true},
		{"time", func(c *cluster) { c.now = c.now.AddDate(10, 0, 0) }, "", true},
		{"the Secret, to be automatic", func(c *cluster) {
			c.account().Secrets = []corev1.ObjectReference{{Name: "session"}}
		}, "", true},
		{"the Secret, gone", func(c *cluster) { delete(c.objects, secretRef) }, "Token has been invalidated", false},
		{"the Secret, being deleted", func(c *cluster) { c.secret().DeletionTimestamp = &metav1.Time{Time: c.now} },
			"Token has been invalidated", false},
		{"the token", func(c *cluster) { c.secret().Data["token"] = []byte("x") },
			"Token does not match server's copy", false},
		{"the account, gone", func(c *cluster) { delete(c.objects, robot) }, `serviceaccounts "robot" not found`, false},
		{"the account, being deleted", func(c *cluster) { c.account().DeletionTimestamp = &metav1.Time{Time: c.now} },
			"ServiceAccount ns/robot has been deleted", false},
		{"the account", func(c *cluster) { c.account().UID = "another" },
			"ServiceAccount UID (another) does not match claim (uid-robot)", false},
		{"the Secret, to be invalid", func(c *cluster) {
			c.secret().Labels = map[string]string{invalidSince: "2026-01-01"}
		}, invalidated, true},
	} {
		c, key := newCluster(), newKey(t)
		i := c.issuer(t, newKey(t), func(config *Config) { config.Keys.Verification = []crypto.PublicKey{key.Public()} })
		token := c.put(t, key, legacyOf())
		secret := c.secret()
		test.change(c)
		response, ok, err := i.AuthenticateToken(t.Context(), token)
		if got := fmt.Sprint(err); ok != (test.err == "") || test.err != "" && got != test.err {
			t.Errorf("changed %s: %v %s, want %s", test.name, ok, got, test.err)
		}
		if ok && (response.User.GetName() != "system:serviceaccount:ns:robot" || response.User.GetUID() != "uid-robot" ||
			len(response.User.GetExtra()) > 0 || fmt.Sprint(response.Audiences) != "["+DefaultIssuer+"]") {
			t.Errorf("changed %s: %+v", test.name, response)
		}
		if day := secret.Labels[lastUsed]; test.used != (day == c.now.UTC().Format(time.DateOnly)) {
			t.Errorf("changed %s: last used %q", test.name, day)
		}
	}
}

// TestLegacyClaims changes one claim. The token is that of the Secret.
func TestLegacyClaims(t *testing.T) {
	t.Parallel()
	const prefix = "kubernetes.io/serviceaccount/"
	for _, test := range []struct {
		claim string
		value any
		err   string
	}{
		{"sub", "", "sub claim is missing"},
		{prefix + "namespace", "", "namespace claim is missing"},
		{prefix + "secret.name", "", "secretName claim is missing"},
		{prefix + "service-account.name", "", "serviceAccountName claim is missing"},
		{prefix + "service-account.uid", "", "serviceAccountUID claim is missing"},
		{prefix + "namespace", "other", "sub claim is invalid"},
		{prefix + "service-account.name", "other", "sub claim is invalid"},
		{"sub", "robot", "sub claim is invalid"},
		{"aud", "elsewhere", "is invalid for the target audiences"},
		{"aud", DefaultIssuer, ""},
		{"iss", "another", ""},
	} {
		c, key := newCluster(), newKey(t)
		i := c.issuer(t, key, nil)
		claims := legacyOf()
		maps.Copy(claims, map[string]any{test.claim: test.value})
		_, ok, err := i.AuthenticateToken(t.Context(), c.put(t, key, claims))
		if known := test.claim != "iss"; ok != (test.err == "" && known) || !strings.Contains(fmt.Sprint(err), test.err) {
			t.Errorf("%s %v: %v %v, want %s", test.claim, test.value, ok, err, test.err)
		}
	}
}

// TestLegacyKeys checks that a token of another key is refused, and that a request for other audiences is.
func TestLegacyKeys(t *testing.T) {
	t.Parallel()
	c, key := newCluster(), newKey(t)
	i := c.issuer(t, key, nil)
	if _, ok, err := i.AuthenticateToken(t.Context(), c.put(t, newKey(t), legacyOf())); ok || err == nil {
		t.Error("the token of another key is accepted")
	}
	token := c.put(t, key, legacyOf())
	for audience, want := range map[string]bool{DefaultIssuer: true, "elsewhere": false} {
		ctx := authenticator.WithAudiences(t.Context(), authenticator.Audiences{audience})
		if _, ok, _ := i.AuthenticateToken(ctx, token); ok != want {
			t.Errorf("for %s: %v", audience, ok)
		}
	}
}

// TestLegacyIssuer checks that a server whose issuer is that of tokens in Secrets accepts both sorts of tokens.
func TestLegacyIssuer(t *testing.T) {
	t.Parallel()
	c, key := newCluster(), newKey(t)
	i := c.issuer(t, key, func(config *Config) { config.Options.Issuers = []string{legacyIssuer} })
	for name, token := range map[string]string{
		"of a Secret": c.put(t, key, legacyOf()), "issued": issue(t, i, requestFor("Secret", "session")),
	} {
		if _, ok, err := i.AuthenticateToken(t.Context(), token); !ok {
			t.Errorf("the token %s: %v", name, err)
		}
	}
}

// TestUseIsRecordedOnce checks that only the first use of a day changes the Secret.
func TestUseIsRecordedOnce(t *testing.T) {
	t.Parallel()
	for days, changes := range map[int]bool{-1: true, 0: false, 1: false, 2: true} {
		c, key := newCluster(), newKey(t)
		i := c.issuer(t, key, nil)
		token := c.put(t, key, legacyOf())
		before := c.now.UTC().AddDate(0, 0, days).Format(time.DateOnly)
		c.secret().Labels = map[string]string{lastUsed: before}
		if _, ok, err := i.AuthenticateToken(t.Context(), token); !ok {
			t.Error(err)
		}
		if after := c.secret().Labels[lastUsed]; changes == (after == before) {
			t.Errorf("last used in %d days: %s became %s", days, before, after)
		}
	}
}
