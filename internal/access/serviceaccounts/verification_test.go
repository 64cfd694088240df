package serviceaccounts

import (
	"fmt"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
)

// TestVerification changes one thing after a token was issued.
func TestVerification(t *testing.T) {
	t.Parallel()
	deleted := func(at time.Duration) func(c *cluster, o metav1.Object) {
		return func(c *cluster, o metav1.Object) { o.SetDeletionTimestamp(&metav1.Time{Time: c.now.Add(at)}) }
	}
	recreated := func(_ *cluster, o metav1.Object) { o.SetUID("another") }
	later := func(d time.Duration) func(*cluster, metav1.Object) {
		return func(c *cluster, _ metav1.Object) { c.now = c.now.Add(d) }
	}
	account := func(c *cluster) metav1.Object { return c.objects[robot] }
	secret := func(c *cluster) metav1.Object { return c.objects[ObjectRef{"secrets", "ns", "session"}] }
	for _, test := range []struct {
		name   string
		object func(*cluster) metav1.Object
		change func(*cluster, metav1.Object)
		err    string
	}{
		{"nothing", account, func(*cluster, metav1.Object) {}, ""},
		{"time, within the leeway", account, later(3600*time.Second + time.Minute), ""},
		{"time", account, later(3600*time.Second + time.Minute + time.Second), "service account token has expired"},
		{"time, backwards", account, later(-2 * time.Minute), "service account token is not valid yet"},
		{"the account", account, recreated, "service account UID (another) does not match claim (uid-robot)"},
		{"the account, being deleted", account, deleted(-30 * time.Second), ""},
		{"the account, being deleted for long", account, deleted(-2 * time.Minute),
			"service account ns/robot has been deleted"},
		{"the account, gone", account, func(c *cluster, _ metav1.Object) { delete(c.objects, robot) },
			`serviceaccounts "robot" not found`},
		{"the Secret", secret, recreated, "secret UID (another) does not match service account secret ref claim " +
			"(uid-session)"},
		{"the Secret, being deleted for long", secret, deleted(-2 * time.Minute),
			"service account token has been invalidated"},
		{"the Secret, gone", secret, func(c *cluster,
			_ metav1.Object) {
			delete(c.objects, ObjectRef{"secrets", "ns", "session"})
		},
			"service account token has been invalidated"},
	} {
		c := newCluster()
		i := c.issuer(t, newKey(t), nil)
		token := issue(t, i, requestFor("Secret", "session"))
		for range 2 { // the second time, the signature is known
			if _, ok, err := i.AuthenticateToken(t.Context(), token); !ok || err != nil {
				t.Fatalf("%s: a new token is refused: %v", test.name, err)
			}
		}
		test.change(c, test.object(c))
		_, ok, err := i.AuthenticateToken(t.Context(), token)
		if got := fmt.Sprint(err); ok != (test.err == "") || test.err != "" && got != test.err {
			t.Errorf("changed %s: %v %s, want %s", test.name, ok, got, test.err)
		}
	}
}

// TestAudiences checks which audiences a token is accepted for, as a TokenReview asks.
func TestAudiences(t *testing.T) {
	t.Parallel()
	c := newCluster()
	i := c.issuer(t, newKey(t), func(config *Config) { config.Audiences = []string{"api", "other-api"} })
	for _, test := range []struct{ of, wanted, want []string }{
		{nil, nil, []string{"api", "other-api"}},
		{[]string{"vault"}, nil, nil},
		{[]string{"vault"}, []string{"vault"}, []string{"vault"}},
		{[]string{"api", "vault"}, nil, []string{"api"}},
		{[]string{"api"}, []string{"vault"}, nil},
	} {
		ctx := t.Context()
		if test.wanted != nil {
			ctx = authenticator.WithAudiences(ctx, test.wanted)
		}
		token := issue(t, i, authenticationv1.TokenRequestSpec{Audiences: test.of})
		response, ok, err := i.AuthenticateToken(ctx, token)
		if ok != (test.want != nil) || ok && fmt.Sprint(response.Audiences) != fmt.Sprint(test.want) {
			t.Errorf("a token for %v, asked for %v: %v %v %v, want %v", test.of, test.wanted, ok, response, err, test.want)
		}
	}
}
