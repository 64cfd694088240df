package encryption

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/server/options/encryptionconfig"
	"k8s.io/apiserver/pkg/server/options/encryptionconfig/controller"
	kmsplugin "k8s.io/apiserver/pkg/storage/value/encrypt/envelope/testing/v2"
)

const (
	secretKey = "/registry/shop.example.com/secrets/default/one"
	plainKey  = "/registry/shop.example.com/tables/default/one"
	otherKey  = "/registry/shop.example.com/secrets/default/two"
)

// resourceOf returns the resource of a key, as the server does.
func resourceOf(key string) schema.GroupResource {
	parts := strings.Split(key, "/")
	if parts[2] == "secrets" {
		return schema.GroupResource{Resource: "secrets"}
	}
	return schema.GroupResource{Group: parts[2], Resource: parts[3]}
}

// provider returns a provider of a configuration, with a key that is derived from seed.
func provider(kind string, seed byte) string {
	if kind == "identity" {
		return "  - identity: {}\n"
	}
	key := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{seed}, 32))
	return fmt.Sprintf("  - %s:\n      keys:\n      - {name: key%d, secret: %q}\n", kind, seed, key)
}

// configuration writes a configuration that encrypts one custom resource.
func configuration(t *testing.T, file string, providers ...string) {
	t.Helper()
	configure(t, file, "secrets.shop.example.com", providers...)
}

// configure writes a configuration that encrypts a resource, or the resources of a wildcard.
func configure(t *testing.T, file, resources string, providers ...string) {
	t.Helper()
	text := "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: [\"" +
		resources +
		"\"]\n  providers:\n"
	for _, p := range providers {
		text += p
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func newTransformer(t *testing.T, o Options) *Transformer {
	t.Helper()
	transformer, err := New(t.Context(), &o, resourceOf, t.Name())
	if err != nil {
		t.Fatal(err)
	}
	return transformer
}

func encrypt(t *testing.T, transformer *Transformer, key, plain string) []byte {
	t.Helper()
	stored, err := transformer.ToStorage(t.Context(), []byte(plain), key)
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

func TestOnlyNamedResourcesAreEncrypted(t *testing.T) {
	for _, kind := range []string{"aescbc", "aesgcm", "secretbox"} {
		t.Run(kind, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "config.yaml")
			configuration(t, file, provider(kind, 1), provider("identity", 0))
			transformer := newTransformer(t, Options{ConfigFile: file})
			const plain = `{"kind":"Secret"}`
			stored := encrypt(t, transformer, secretKey, plain)
			if bytes.Contains(stored, []byte("Secret")) || !bytes.HasPrefix(stored, []byte("k8s:enc:"+kind+":v1:key1:")) {
				t.Errorf("stored is %q", stored)
			}
			if got, stale, err := transformer.FromStorage(t.Context(), stored, secretKey); err != nil || stale ||
				string(got) != plain {
				t.Errorf("read was %q, %t, %v", got, stale, err)
			}
			if _, _, err := transformer.FromStorage(t.Context(), stored, otherKey); err == nil && kind == "aesgcm" {
				t.Error("the value of one object was decrypted for another")
			}
			if got, stale, err := transformer.FromStorage(t.Context(), []byte(plain), secretKey); err != nil || !stale ||
				string(got) != plain {
				t.Errorf("a value stored before encryption was read as %q, %t, %v", got, stale, err)
			}
			if stored := encrypt(t, transformer, plainKey, plain); string(stored) != plain {
				t.Errorf("a resource that is not named was stored as %q", stored)
			}
			if checks := transformer.Checks(); len(checks) > 0 {
				t.Errorf("there is no key service, but checks %v", checks)
			}
		})
	}
}

// TestBuiltInResources checks that a configuration names built-in resources as kube-apiserver's does.
func TestBuiltInResources(t *testing.T) {
	t.Parallel()
	const builtInKey = "/registry/secrets/default/one"
	for resources, encrypted := range map[string][]bool{ // builtInKey, secretKey, plainKey
		"secrets":                  {true, false, false},
		"*.":                       {true, false, false},
		"secrets.shop.example.com": {false, true, false},
		"*.shop.example.com":       {false, true, true},
		"*.*":                      {true, true, true},
	} {
		file := filepath.Join(t.TempDir(), "config.yaml")
		configure(t, file, resources, provider("secretbox", 1))
		transformer := newTransformer(t, Options{ConfigFile: file})
		for n, key := range []string{builtInKey, secretKey, plainKey} {
			if got := !bytes.Equal(encrypt(t, transformer, key, "value"), []byte("value")); got != encrypted[n] {
				t.Errorf("with %q, the encryption of %s is %t", resources, key, got)
			}
		}
	}
}

func TestFileIsReloaded(t *testing.T) {
	usual := controller.EncryptionConfigFileChangePollDuration
	controller.EncryptionConfigFileChangePollDuration = 20 * time.Millisecond
	t.Cleanup(func() { controller.EncryptionConfigFileChangePollDuration = usual })
	file := filepath.Join(t.TempDir(), "config.yaml")
	configuration(t, file, provider("aesgcm", 1))
	transformer := newTransformer(t, Options{ConfigFile: file, Reload: true})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { transformer.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })

	old := encrypt(t, transformer, secretKey, "value")
	configuration(t, file, provider("aesgcm", 2), provider("aesgcm", 1))
	err := wait.PollUntilContextCancel(t.Context(), 10*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		stored, err := transformer.ToStorage(ctx, []byte("value"), secretKey)
		return bytes.HasPrefix(stored, []byte("k8s:enc:aesgcm:v1:key2:")), err
	})
	if err != nil {
		t.Fatalf("the new key is not used: %v", err)
	}
	if got, stale, err := transformer.FromStorage(t.Context(), old, secretKey); err != nil || !stale ||
		string(got) != "value" {
		t.Errorf("a value of the old key was read as %q, %t, %v", got, stale, err)
	}
}

func TestInvalidOptions(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte("kind: Other"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{{ConfigFile: file}, {ConfigFile: file + ".missing"}} {
		if _, err := New(t.Context(), &o, resourceOf, t.Name()); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
	if transformer, err := New(t.Context(), &Options{}, resourceOf, t.Name()); transformer != nil || err != nil {
		t.Errorf("without a configuration there is %v, %v", transformer, err)
	}
	if errs := (&Options{Reload: true}).Validate(); len(errs) != 1 {
		t.Errorf("reloading nothing: %v", errs)
	}
}

// check returns the error of the only check of the transformer.
func check(t *testing.T, transformer *Transformer) error {
	t.Helper()
	checks := transformer.Checks()
	if len(checks) != 1 {
		t.Fatalf("there are %d checks", len(checks))
	}
	return checks[0].Check(httptest.NewRequest(http.MethodGet, "/readyz", nil))
}

// TestKeyManagementService checks encryption with the keys of a KMS v2 plugin.
func TestKeyManagementService(t *testing.T) {
	defer encryptionconfig.SetKDFForTests(t.Name(), true)()
	socket := fmt.Sprintf("@%d.sock", time.Now().UnixNano()) // abstract: paths of test directories are too long
	kmsplugin.NewBase64Plugin(t, socket)
	file := filepath.Join(t.TempDir(), "config.yaml")
	configuration(t, file, fmt.Sprintf("  - kms: {apiVersion: v2, name: %q, endpoint: %q, timeout: 3s}\n", "test",
		"unix:///"+socket))
	transformer := newTransformer(t, Options{ConfigFile: file})
	err := wait.PollUntilContextCancel(t.Context(), 10*time.Millisecond, true, func(context.Context) (bool, error) {
		return check(t, transformer) == nil, nil
	})
	if err != nil {
		t.Fatalf("the plugin cannot be used: %v", check(t, transformer))
	}
	stored := encrypt(t, transformer, secretKey, "value")
	if !bytes.HasPrefix(stored, []byte("k8s:enc:kms:v2:test:")) || bytes.Contains(stored, []byte("value")) {
		t.Errorf("stored is %q", stored)
	}
	if got, stale, err := transformer.FromStorage(t.Context(), stored, secretKey); err != nil || stale ||
		string(got) != "value" {
		t.Errorf("read was %q, %t, %v", got, stale, err)
	}
}
