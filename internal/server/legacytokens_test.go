package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"k8s.io/client-go/util/keyutil"
)

// newTokenKey returns a key, and a file with it.
func newTokenKey(t *testing.T) (*ecdsa.PrivateKey, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	pem, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "accounts.key")
	if err := os.WriteFile(file, pem, 0o600); err != nil {
		t.Fatal(err)
	}
	return key, file
}

// fillSecret creates a Secret with a token of an account, as kube-controller-manager fills it, and returns the token.
func (p *person) fillSecret(key *ecdsa.PrivateKey, account, name string) string {
	p.t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	const prefix = "kubernetes.io/serviceaccount/"
	token, err := jwt.Signed(signer).Claims(map[string]any{
		"iss": "kubernetes/serviceaccount", "sub": "system:serviceaccount:default:" + account,
		prefix + "namespace": "default", prefix + "secret.name": name, prefix + "service-account.name": account,
		prefix + "service-account.uid": p.uidOf(accountsPath + "/" + account),
	}).Serialize()
	if err != nil {
		p.t.Fatal(err)
	}
	p.must(http.StatusCreated, "POST", secretsPath, `{"metadata":{"name":"`+name+`","annotations":`+
		`{"kubernetes.io/service-account.name":"`+account+`"}},"type":"kubernetes.io/service-account-token",`+
		`"data":{"token":"`+base64.StdEncoding.EncodeToString([]byte(token))+`"}}`)
	return token
}

// TestTokensInSecrets checks that tokens of kube-controller-manager are accepted while their Secrets exist.
func TestTokensInSecrets(t *testing.T) {
	t.Parallel()
	key, file := newTokenKey(t)
	s := startWhole(t, "--service-account-key-file", file)
	root := s.root()
	root.createAccount("robot")
	token := root.fillSecret(key, "robot", "login")
	robot := s.bearer(token)
	if got := robot.whoami(); !strings.HasPrefix(got, "system:serviceaccount:default:robot ") {
		t.Fatalf("the token is of %q", got)
	}
	used := `"kubernetes.io/legacy-token-last-used":"` + time.Now().UTC().Format("2006-01")
	root.must(http.StatusOK, "GET", secretsPath+"/login", "").expect(t, used)
	root.must(http.StatusCreated, "POST", "/apis/authentication.k8s.io/v1/tokenreviews", `{"spec":{"token":"`+token+`"}}`).
		expect(t, `"authenticated":true`, `"username":"system:serviceaccount:default:robot"`)

	merge := []string{"Content-Type", "application/merge-patch+json"}
	root.must(http.StatusOK, "PATCH", accountsPath+"/robot", `{"secrets":[{"name":"login"}]}`, merge...)
	warned := robot.must(http.StatusCreated, "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", "{}")
	if got := warned.header.Get("Warning"); !strings.Contains(got, "instead of auto-generated secret-based tokens") {
		t.Errorf("warning %q", got)
	}

	const invalid = `{"metadata":{"labels":{"kubernetes.io/legacy-token-invalid-since":"2026-01-01"}}}`
	root.must(http.StatusOK, "PATCH", secretsPath+"/login", invalid, merge...)
	if got := robot.whoami(); got != "" {
		t.Errorf("an invalid token is of %s", got)
	}
	root.must(http.StatusOK, "PATCH", secretsPath+"/login", strings.Replace(invalid, `"2026-01-01"`, "null", 1), merge...)
	if robot.whoami() == "" {
		t.Error("a token that is valid again is refused")
	}
	root.must(http.StatusOK, "DELETE", secretsPath+"/login", "")
	if got := robot.whoami(); got != "" {
		t.Errorf("a token without a Secret is of %s", got)
	}
}

// TestTrackingMap checks that the ConfigMap exists by which kube-controller-manager knows that uses are recorded.
func TestTrackingMap(t *testing.T) {
	t.Parallel()
	root := startWhole(t).root()
	const path = "/api/v1/namespaces/kube-system/configmaps/kube-apiserver-legacy-service-account-token-tracking"
	root.must(http.StatusOK, "GET", path, "").expect(t, `"data":{"since":"20`)
}
