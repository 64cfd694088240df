package server

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"k8s.io/client-go/util/keyutil"
)

// accountKey is a key that signs tokens, and its file.
type accountKey struct {
	key  any
	file string
}

// newAccountKey makes a key, and a file of it if that has a name.
func newAccountKey(t *testing.T, name string) accountKey {
	t.Helper()
	pem, err := keyutil.MakeEllipticPrivateKeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	key, err := keyutil.ParsePrivateKeyPEM(pem)
	if err != nil {
		t.Fatal(err)
	}
	if name == "" {
		return accountKey{key: key}
	}
	return accountKey{key, written(t, name, string(pem))}
}

// TestSigningKeysRotate replaces the generated key by one of a file, and that by another, as an operator does.
func TestSigningKeysRotate(t *testing.T) {
	t.Parallel()
	one, two := newAccountKey(t, "one.key"), newAccountKey(t, "two.key")
	first := startWhole(t)
	dir := first.options.DataDir
	generated := filepath.Join(dir, "pki", "service-account.key")
	if info, err := os.Stat(generated); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the generated key: %v %v", info, err)
	}
	first.root().createAccount("robot")
	tokens := []string{first.root().token("robot", `{}`).Status.Token}
	first.shutDown()
	for _, step := range []struct {
		flags    []string
		accepted int // of the tokens, the last ones
		keys     int
	}{
		{nil, 1, 1},
		{[]string{"--service-account-signing-key-file", one.file, "--service-account-key-file", generated}, 2, 2},
		{[]string{"--service-account-signing-key-file", two.file, "--service-account-key-file", one.file}, 2, 2},
		{[]string{
			"--service-account-signing-key-file", two.file, "--service-account-issuer", "https://new.example.com",
			"--service-account-issuer", "https://kubernetes.default.svc.cluster.local", "--service-account-key-file", two.file,
		}, 2, 1},
	} {
		s := startWhole(t, append([]string{"--data-dir", dir}, step.flags...)...)
		root := s.root()
		if step.flags != nil {
			tokens = append(tokens, root.token("robot",
				`{"audiences":["https://kubernetes.default.svc.cluster.local","https://new.example.com"]}`).Status.Token)
		}
		for n, token := range tokens {
			accepted := n >= len(tokens)-step.accepted
			if got := s.bearer(token).whoami(); (got != "") != accepted {
				t.Errorf("%v: token %d is %q", step.flags, n, got)
			}
		}
		keys := jose.JSONWebKeySet{}
		if err := json.Unmarshal([]byte(root.must(http.StatusOK, http.MethodGet, "/openid/v1/jwks", "").body),
			&keys); err != nil {
			t.Fatal(err)
		}
		if len(keys.Keys) != step.keys {
			t.Errorf("%v: %d keys are published, want %d", step.flags, len(keys.Keys), step.keys)
		}
		s.shutDown()
	}
}
