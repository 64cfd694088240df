package serviceaccounts

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// cluster has objects by their references. Its clock stands still.
type cluster struct {
	objects map[ObjectRef]metav1.Object
	now     time.Time
}

var _ Objects = &cluster{}

func (c *cluster) Get(_ context.Context, ref ObjectRef, _ bool) (metav1.Object, error) {
	if obj, ok := c.objects[ref]; ok {
		return obj, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: ref.Resource}, ref.Name)
}

func (c *cluster) Metadata(ctx context.Context, ref ObjectRef, _ bool) (metav1.Object, error) {
	return c.Get(ctx, ref, true)
}

func (c *cluster) Label(_ context.Context, secret *corev1.Secret, label, value string) error {
	metav1.SetMetaDataLabel(&secret.ObjectMeta, label, value)
	return nil
}

// meta returns the metadata of an object whose UID is its name with the prefix "uid-".
func meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid-" + name)}
}

var robot = ObjectRef{"serviceaccounts", "ns", "robot"}

// newCluster returns the account robot, a Secret, two pods of which one is the robot's, and the robot's node.
func newCluster() *cluster {
	return &cluster{now: time.Unix(1_800_000_000, 0), objects: map[ObjectRef]metav1.Object{
		robot:                        &corev1.ServiceAccount{ObjectMeta: meta("ns", "robot")},
		{"secrets", "ns", "session"}: &corev1.Secret{ObjectMeta: meta("ns", "session")},
		{"nodes", "", "node"}:        &corev1.Node{ObjectMeta: meta("", "node")},
		{"pods", "ns", "pod"}: &corev1.Pod{
			ObjectMeta: meta("ns", "pod"), Spec: corev1.PodSpec{ServiceAccountName: "robot", NodeName: "node"},
		},
		{"pods", "ns", "lost"}: &corev1.Pod{
			ObjectMeta: meta("ns", "lost"), Spec: corev1.PodSpec{ServiceAccountName: "robot", NodeName: "gone"},
		},
		{"pods", "ns", "other"}: &corev1.Pod{ObjectMeta: meta("ns", "other")},
	}}
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// issuer returns an issuer of tokens for the objects of c.
func (c *cluster) issuer(t testing.TB, key crypto.Signer, change func(*Config)) *Issuer {
	t.Helper()
	config := Config{
		Options: NewOptions(), Keys: &Keys{Signing: key}, Objects: c, Now: func() time.Time { return c.now },
	}
	if change != nil {
		change(&config)
	}
	i, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// issue returns a token of the robot.
func issue(t testing.TB, i *Issuer, spec authenticationv1.TokenRequestSpec) string {
	t.Helper()
	if spec.ExpirationSeconds == nil {
		hour := int64(3600)
		spec.ExpirationSeconds = &hour
	}
	answer, err := i.Issue(t.Context(), Request{
		Namespace: "ns", Name: "robot", TokenRequest: &authenticationv1.TokenRequest{Spec: spec},
	})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Status.Token
}

// requestFor returns a request for a token that is bound to an object.
func requestFor(kind, name string) authenticationv1.TokenRequestSpec {
	return authenticationv1.TokenRequestSpec{
		BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: kind, APIVersion: "v1", Name: name},
	}
}

// TestClaims checks the private claims of tokens that are bound to different objects, and when they expire.
func TestClaims(t *testing.T) {
	t.Parallel()
	renewed := requestFor("Pod", "pod")
	renewed.ExpirationSeconds = new(int64)
	*renewed.ExpirationSeconds = renewedSeconds
	elsewhere := *renewed.DeepCopy()
	elsewhere.Audiences = []string{"elsewhere"}
	const account = `"namespace":"ns","serviceaccount":{"name":"robot","uid":"uid-robot"}`
	for _, test := range []struct {
		name    string
		spec    authenticationv1.TokenRequestSpec
		claims  string
		seconds int64
	}{
		{"nothing", authenticationv1.TokenRequestSpec{}, `{` + account + `}`, 3600},
		{"a Secret", requestFor("Secret", "session"), `{` + account + `,"secret":{"name":"session","uid":"uid-session"}}`,
			3600},
		{"a node", requestFor("Node", "node"), `{` + account + `,"node":{"name":"node","uid":"uid-node"}}`, 3600},
		{"a pod", requestFor("Pod", "pod"),
			`{` + account + `,"pod":{"name":"pod","uid":"uid-pod"},"node":{"name":"node","uid":"uid-node"}}`, 3600},
		{"a pod whose node is gone", requestFor("Pod", "lost"),
			`{` + account + `,"pod":{"name":"lost","uid":"uid-lost"},"node":{"name":"gone"}}`, 3600},
		{"a pod that renews", renewed,
			`{` + account + `,"pod":{"name":"pod","uid":"uid-pod"},"node":{"name":"node","uid":"uid-node"},` +
				`"warnafter":1800003607}`,
			365 * 24 * 3600},
		{"a pod that renews, for another server", elsewhere,
			`{` + account + `,"pod":{"name":"pod","uid":"uid-pod"},"node":{"name":"node","uid":"uid-node"}}`, 3607},
	} {
		c := newCluster()
		i := c.issuer(t, newKey(t), nil)
		got, err := i.claimsOf(issue(t, i, test.spec))
		if err != nil {
			t.Fatal(err)
		}
		encoded, err := json.Marshal(got.Kubernetes)
		if err != nil {
			t.Fatal(err)
		}
		if !sameJSON(t, string(encoded), test.claims) {
			t.Errorf("bound to %s: the claims are %s, want %s", test.name, encoded, test.claims)
		}
		if lifetime := int64(*got.Expiry - *got.IssuedAt); lifetime != test.seconds || *got.NotBefore != *got.IssuedAt {
			t.Errorf("bound to %s: valid for %d seconds, want %d", test.name, lifetime, test.seconds)
		}
	}
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var decoded [2]any
	for n, text := range []string{a, b} {
		if err := json.Unmarshal([]byte(text), &decoded[n]); err != nil {
			t.Fatal(err)
		}
	}
	return fmt.Sprint(decoded[0]) == fmt.Sprint(decoded[1])
}

// TestKeyTypes signs and verifies with each type of key, and publishes it.
func TestKeyTypes(t *testing.T) {
	t.Parallel()
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	keys := map[jose.SignatureAlgorithm]crypto.Signer{jose.RS256: rsaKey}
	for algorithm, curve := range map[jose.SignatureAlgorithm]elliptic.Curve{
		jose.ES256: elliptic.P256(), jose.ES384: elliptic.P384(), jose.ES512: elliptic.P521(),
	} {
		if keys[algorithm], err = ecdsa.GenerateKey(curve, rand.Reader); err != nil {
			t.Fatal(err)
		}
	}
	for algorithm, key := range keys {
		i := newCluster().issuer(t, key, nil)
		token := issue(t, i, authenticationv1.TokenRequestSpec{})
		if _, ok, err := i.AuthenticateToken(t.Context(), token); !ok {
			t.Errorf("%s: %v", algorithm, err)
		}
		if i.keys[0].Algorithm != string(algorithm) || !i.keys[0].IsPublic() || !i.keys[0].Valid() {
			t.Errorf("%s is published as %v", algorithm, i.keys[0])
		}
	}
	small, err := ecdsa.GenerateKey(elliptic.P224(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(Config{Keys: &Keys{Signing: small}}); err == nil {
		t.Error("a key with the curve P-224 is accepted")
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		change func(*Options)
		want   string
	}{
		{func(*Options) {}, "[]"},
		{func(o *Options) { o.Issuers = []string{"a", ""} }, "[--service-account-issuer must not be empty]"},
		{func(o *Options) { o.Issuers = []string{"a", "a"} }, `[--service-account-issuer "a" is given twice]`},
		{func(o *Options) { o.JWKSURI = "http://a" }, `[--service-account-jwks-uri must be an https URL, not "http://a"]`},
		{func(o *Options) { o.MaxExpiration = time.Minute },
			"[--service-account-max-token-expiration must be 0, or between 1 hour and 2^32 seconds, not 1m0s]"},
	} {
		o := NewOptions()
		test.change(&o)
		if got := fmt.Sprint(o.Validate()); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
	if errs := (&Options{Issuers: []string{":"}}).Validate(); len(errs) != 1 {
		t.Errorf("a broken URL: %v", errs)
	}
}

// FuzzToken checks that no other token than one that was issued is accepted.
func FuzzToken(f *testing.F) {
	c := newCluster()
	i := c.issuer(f, newKey(f), nil)
	good := issue(f, i, authenticationv1.TokenRequestSpec{})
	parts := strings.Split(good, ".")
	f.Add("")
	f.Add("a.b.c")
	f.Add(parts[0] + "." + parts[1] + ".")
	f.Add("eyJhbGciOiJub25lIn0." + parts[1] + ".")
	f.Add("." + parts[1] + "." + parts[2])
	f.Add(parts[0] + ".." + parts[2])
	f.Add(" " + good)
	f.Add(good + "=")
	key, err := json.Marshal(i.keys[0])
	if err != nil {
		f.Fatal(err)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.HS256, Key: key}, nil)
	if err != nil {
		f.Fatal(err)
	}
	forged, err := jwt.Signed(signer).Claims(map[string]any{"iss": DefaultIssuer}).Serialize()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(forged)
	f.Fuzz(func(t *testing.T, token string) {
		response, ok, _ := i.AuthenticateToken(t.Context(), token)
		if ok && token != good {
			// The last character of a signature has bits that no decoder looks at.
			if known, err := i.claimsOf(good); err != nil || !strings.HasPrefix(token, parts[0]+"."+parts[1]+".") {
				t.Errorf("%q is %v, the claims are %v", token, response.User, known)
			}
		}
		if ok != (response != nil) {
			t.Errorf("%q: %v %v", token, ok, response)
		}
	})
}
