package rbac

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/keyutil"
)

// recordedTokens has kube-apiserver's answers to reviews of tokens in Secrets.
const recordedTokens = "testdata/secrettokens.txt"

const (
	legacyPrefix = "kubernetes.io/serviceaccount/"
	lastUsed     = "kubernetes.io/legacy-token-last-used"
	invalidSince = "kubernetes.io/legacy-token-invalid-since"
)

// secretToken is a Secret and its token, both as kube-controller-manager makes them, before a case changes something.
type secretToken struct {
	secret  *corev1.Secret
	account *corev1.ServiceAccount
	claims  jwt.MapClaims
	key     any
	// presented and stored say what the review gets and what the Secret holds, if that is not the token.
	presented, stored string
	audiences         []string
}

func (s *secretToken) label(name, value string) {
	metav1.SetMetaDataLabel(&s.secret.ObjectMeta, name, value)
}

// secretTokens are the cases, in order. A change is made before the token is first presented: kube-apiserver remembers
// tokens for seconds.
var secretTokens = []struct {
	name   string
	change func(s *secretToken)
}{
	{"as it was made", func(*secretToken) {}},
	{"of an account that lists the secret", func(s *secretToken) {
		s.account.Secrets = []corev1.ObjectReference{{Name: s.secret.Name}}
	}},
	{"used long ago", func(s *secretToken) { s.label(lastUsed, "2020-01-01") }},
	{"used tomorrow", func(s *secretToken) { s.label(lastUsed, day(1)) }},
	{"used in two days", func(s *secretToken) { s.label(lastUsed, day(2)) }},
	{"invalid", func(s *secretToken) { s.label(invalidSince, "2026-01-01") }},
	{"invalid since no day", func(s *secretToken) { s.label(invalidSince, "") }},
	{"invalid, of an account that lists the secret", func(s *secretToken) {
		s.label(invalidSince, "x")
		s.account.Secrets = []corev1.ObjectReference{{Name: s.secret.Name}}
	}},
	{"of another secret type", func(s *secretToken) { s.secret.Type = corev1.SecretTypeOpaque }},
	{"without a secret", func(s *secretToken) { s.claims[legacyPrefix+"secret.name"] = "none" }},
	{"that the secret does not have", func(s *secretToken) { s.stored = "another" }},
	{"without an account", func(s *secretToken) {
		s.claims[legacyPrefix+"service-account.name"], s.claims["sub"] = "none", "system:serviceaccount:"+inNamespace+":none"
	}},
	{"of an account of an earlier life", func(s *secretToken) { s.claims[legacyPrefix+"service-account.uid"] = "7" }},
	{"of another namespace", func(s *secretToken) { s.claims[legacyPrefix+"namespace"] = "kube-system" }},
	{"of another subject", func(s *secretToken) { s.claims["sub"] = "system:serviceaccount:kube-system:default" }},
	{"of a user", func(s *secretToken) { s.claims["sub"] = "admin" }},
	{"without a subject", func(s *secretToken) { delete(s.claims, "sub") }},
	{"without a namespace", func(s *secretToken) { delete(s.claims, legacyPrefix+"namespace") }},
	{"without the name of a secret", func(s *secretToken) { delete(s.claims, legacyPrefix+"secret.name") }},
	{"without the name of an account", func(s *secretToken) { delete(s.claims, legacyPrefix+"service-account.name") }},
	{"without a UID", func(s *secretToken) { delete(s.claims, legacyPrefix+"service-account.uid") }},
	{"of another key", func(s *secretToken) { s.key, _ = ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }},
	{"of another issuer", func(s *secretToken) { s.claims["iss"] = "https://example.com" }},
	{"that has expired", func(s *secretToken) { s.claims["exp"] = 1 }},
	{"for an audience", func(s *secretToken) { s.claims["aud"] = []string{"vault"} }},
	{"asked for another audience", func(s *secretToken) { s.audiences = []string{"vault"} }},
	{"cut off", func(s *secretToken) { s.presented = "x.y.z" }},
}

// day returns a day that is some days from now.
func day(days int) string { return time.Now().UTC().AddDate(0, 0, days).Format(time.DateOnly) }

// TestDifferentialTokensInSecrets records what kube-apiserver says about tokens in Secrets, and compares our server.
func TestDifferentialTokensInSecrets(t *testing.T) {
	if !*upstream {
		t.Skip("without -upstream")
	}
	theirs, ours := reviewSecretTokens(t, startTheirs(t)), reviewSecretTokens(t, startOurs(t))
	report(t, theirs, ours)
	if *update {
		if err := os.WriteFile(recordedTokens, []byte(theirs), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTokensInSecrets presents tokens in Secrets to our server alone.
func TestTokensInSecrets(t *testing.T) {
	t.Parallel()
	if *upstream {
		t.Skip("with -upstream, TestDifferentialTokensInSecrets asks kube-apiserver")
	}
	want, err := os.ReadFile(recordedTokens)
	if err != nil {
		t.Fatal(err)
	}
	report(t, string(want), reviewSecretTokens(t, startOurs(t)))
}

// reviewSecretTokens returns what a server says about each token, and how it labels the Secrets.
func reviewSecretTokens(t *testing.T, s *server) string {
	t.Helper()
	key, err := keyutil.PrivateKeyFromFile(s.signingKey)
	if err != nil {
		t.Fatal(err)
	}
	var answers strings.Builder
	for n, test := range secretTokens {
		name := fmt.Sprintf("robot%d", n)
		if err := s.createAccount(t.Context(), inNamespace, name); err != nil {
			t.Fatal(err)
		}
		token := s.newSecretToken(t, name)
		token.key = key
		test.change(token)
		fmt.Fprintf(&answers, "A token, %s:\n%s", test.name, s.reviewSecretToken(t, token))
	}
	uids := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`)
	days := strings.NewReplacer(day(0), "today", day(1), "tomorrow", day(2), "later")
	return days.Replace(uids.ReplaceAllString(answers.String(), "{uid}"))
}

// newSecretToken returns a Secret for an account, which has its name.
func (s *server) newSecretToken(t *testing.T, name string) *secretToken {
	t.Helper()
	account, err := s.CoreV1().ServiceAccounts(inNamespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	annotations := map[string]string{corev1.ServiceAccountNameKey: name}
	return &secretToken{
		secret: &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations}, Type: corev1.SecretTypeServiceAccountToken,
		},
		account: account,
		claims: jwt.MapClaims{
			"iss": "kubernetes/serviceaccount", "sub": "system:serviceaccount:" + inNamespace + ":" + name,
			legacyPrefix + "namespace": inNamespace, legacyPrefix + "secret.name": name,
			legacyPrefix + "service-account.name": name, legacyPrefix + "service-account.uid": string(account.UID),
		},
	}
}

// reviewSecretToken writes the account and the Secret of a token, and returns what the server says about it.
func (s *server) reviewSecretToken(t *testing.T, token *secretToken) string {
	t.Helper()
	signed, err := jwt.NewWithClaims(jwt.SigningMethodES256, token.claims).SignedString(token.key)
	if err != nil {
		t.Fatal(err)
	}
	for _, unset := range []*string{&token.presented, &token.stored} {
		if *unset == "" {
			*unset = signed
		}
	}
	accounts := s.CoreV1().ServiceAccounts(inNamespace)
	if _, err := accounts.Update(t.Context(), token.account, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	secrets := s.CoreV1().Secrets(inNamespace)
	token.secret.Data = map[string][]byte{corev1.ServiceAccountTokenKey: []byte(token.stored)}
	if _, err := secrets.Create(t.Context(), token.secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	review, err := s.AuthenticationV1().TokenReviews().Create(t.Context(), &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token.presented, Audiences: token.audiences},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	after, err := secrets.Get(t.Context(), token.secret.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("  %s\n  labels %v\n", shown(review.Status), after.Labels)
}
