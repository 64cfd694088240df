package server

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/apiserver/pkg/server/options/encryptionconfig/controller"

	"github.com/crd-server/crd-server/internal/etcdtest"
)

// encryptionConfig returns a configuration that encrypts tables with the first key, and decrypts with all keys.
func encryptionConfig(keys ...byte) string {
	listed := ""
	for _, key := range keys {
		listed += fmt.Sprintf(`{"name":"key%d","secret":%q},`, key,
			base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{key}, 32)))
	}
	return `{"apiVersion":"apiserver.config.k8s.io/v1","kind":"EncryptionConfiguration",
"resources":[{"resources":["tables.shop.example.com"],
"providers":[{"aesgcm":{"keys":[` + strings.TrimSuffix(listed, ",") + `]}},{"identity":{}}]}]}`
}

// TestEncryption checks that values are encrypted in etcd and plain for clients, that keys are reloaded while the
// server runs, and that the loss of a key makes only its objects unreadable. It does not run in parallel, because it
// changes the library's poll interval.
func TestEncryption(t *testing.T) {
	before := controller.EncryptionConfigFileChangePollDuration
	controller.EncryptionConfigFileChangePollDuration = 50 * time.Millisecond
	t.Cleanup(func() { controller.EncryptionConfigFileChangePollDuration = before })
	etcd := etcdtest.New(t, func(c *embed.Config) {
		c.ListenClientUrls = []url.URL{{Scheme: "http",
			Host: "127.0.0.1:0"}}
	})
	prefix := etcd.Prefix(t)
	stored := func(name string) string {
		got, err := etcd.Client.Get(t.Context(), prefix+"/shop.example.com/tables/default/"+name)
		if err != nil || len(got.Kvs) != 1 {
			t.Fatal(got, err)
		}
		return string(got.Kvs[0].Value)
	}
	file := written(t, "encryption.json", encryptionConfig(1))
	args := []string{"--etcd-servers", "http://" + etcd.Addr().String(), "--etcd-prefix", prefix,
		"--encryption-provider-config", file}
	s := startWhole(t, append(args, "--encryption-provider-config-automatic-reload")...)
	root := s.root().withTables()
	root.must(http.StatusCreated, "POST", tablesPath, table("old", 4))
	if value := stored("old"); !strings.HasPrefix(value, "k8s:enc:aesgcm:v1:key1:") || strings.Contains(value, "legs") {
		t.Errorf("stored is %.80q", value)
	}
	root.must(http.StatusOK, "PATCH", tablesPath+"/old", `{"spec":{"legs":5}}`, "Content-Type",
		"application/merge-patch+json")
	if got := root.must(http.StatusOK, "GET", tablesPath, ""); !strings.Contains(got.body, `"legs":5`) {
		t.Errorf("got %s", got.body)
	}
	if got := root.must(http.StatusOK, "GET", "/readyz?verbose", ""); !strings.Contains(got.body, "[+]kms-providers ok") {
		t.Errorf("got %s", got.body)
	}
	write(t, file, encryptionConfig(2, 1))
	n := 0
	waitUntil(t, "the new key is in effect", func() bool {
		n++
		name := fmt.Sprintf("new%d", n)
		root.must(http.StatusCreated, "POST", tablesPath, table(name, 4))
		return strings.HasPrefix(stored(name), "k8s:enc:aesgcm:v1:key2:")
	})
	root.must(http.StatusOK, "GET", tablesPath+"/old", "")
	root.client.CloseIdleConnections()
	s.shutDown()

	write(t, file, encryptionConfig(2)) // without the first key
	root = startWhole(t, args...).root()
	if got := root.send("GET", tablesPath+"/old", ""); got.code != http.StatusInternalServerError ||
		got.status(t).Message == "" {
		t.Errorf("the object of the lost key: %d %s", got.code, got.body)
	}
	root.must(http.StatusOK, "GET", tablesPath+fmt.Sprintf("/new%d", n), "")
}
