package e2e

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/crd-server/crd-server/test/etcd/cluster"
	"github.com/crd-server/crd-server/test/process"
	"github.com/crd-server/crd-server/test/programs"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// encryptionKey is that of encrypting.
const encryptionKey = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

// encrypting is an EncryptionConfiguration for everything that a test stores.
const encrypting = `kind: EncryptionConfiguration
apiVersion: apiserver.config.k8s.io/v1
resources:
- resources: ["*.*"]
  providers:
  - aescbc: {keys: [{name: first, secret: ` + encryptionKey + `}]}
  - identity: {}
`

// TestInterop has upstream's server and crd-server take turns on one etcd: what one has written the other serves, to the last
// field, and writes further.
func TestInterop(t *testing.T) {
	t.Parallel()
	encryption := filepath.Join(t.TempDir(), "encryption.yaml")
	if err := os.WriteFile(encryption, []byte(encrypting), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name           string
		upstream, ours []string
		// stored begins all values of custom resources in etcd that a server has written; upstream alone writes CBOR.
		byUpstream, byOurs string
	}{
		{name: "JSON", byUpstream: "{", byOurs: "{"},
		{name: "CBOR", upstream: []string{"--feature-gates=CBORServingAndStorage=true"}, byUpstream: "\xd9\xd9\xf7", byOurs: "{"},
		{
			name: "encrypted", upstream: []string{"--encryption-provider-config", encryption}, ours: []string{"--encryption-provider-config", encryption},
			byUpstream: "k8s:enc:aescbc:v1:first:", byOurs: "k8s:enc:aescbc:v1:first:",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			t.Run("upstream first", func(t *testing.T) {
				t.Parallel()
				i := newInterop(t, test.upstream, test.ours)
				i.takeTurns(i.startUpstream, i.startOurs, test.byUpstream)
			})
			t.Run("crd-server first", func(t *testing.T) {
				t.Parallel()
				i := newInterop(t, test.upstream, test.ours)
				i.takeTurns(i.startOurs, i.startUpstream, test.byOurs)
			})
		})
	}
}

// TestMoved copies the keys of CRDs and objects from the etcd of an upstream's server to another, whatever revisions they get
// there: crd-server serves everything as it was, but for resourceVersions.
func TestMoved(t *testing.T) {
	t.Parallel()
	old := newInterop(t, nil, nil)
	server := old.startUpstream()
	client := dynamicClient(t, server)
	old.writeAll(client)
	want := old.everything(client)
	old.end(server)

	moved := newInterop(t, nil, nil)
	found, err := old.etcd.Client.Get(t.Context(), "/registry/", clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	for _, kv := range found.Kvs {
		if _, err := moved.etcd.Client.Put(t.Context(), string(kv.Key), string(kv.Value)); err != nil {
			t.Fatal(err)
		}
	}
	client = dynamicClient(t, moved.startOurs())
	got := moved.everything(client)
	for _, all := range []map[string]string{want, got} {
		for name := range all {
			all[name] = resourceVersion.ReplaceAllLiteralString(all[name], "")
		}
	}
	moved.equal("what was moved", want, got)
	moved.changeAll(client)
}

// resourceVersion is that of an object as everything has it.
var resourceVersion = regexp.MustCompile(`"resourceVersion": "\d+",?`)

// interop is an etcd that two servers take turns on.
type interop struct {
	*testing.T
	etcd           *cluster.Cluster
	upstream, ours []string
}

func newInterop(t *testing.T, upstream, ours []string) *interop {
	return &interop{T: t, etcd: cluster.Start(t, 1), upstream: upstream, ours: ours}
}

func (i *interop) startOurs() *process.Server {
	i.Helper()
	args := append([]string{"--etcd-servers", i.etcd.Endpoints()[0]}, i.ours...)
	return start(i.T, process.Options{DataDir: filepath.Join(i.TempDir(), "data"), Args: args})
}

func (i *interop) startUpstream() *process.Server {
	i.Helper()
	path, err := programs.Upstream()
	if err != nil {
		i.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(i.Context(), startTimeout)
	defer cancel()
	args := append([]string{"--etcd-servers", i.etcd.Endpoints()[0], "--"}, i.upstream...)
	server, err := process.Start(ctx, process.Options{Binary: path, DataDir: filepath.Join(i.TempDir(), "data"), Args: args})
	if err != nil {
		i.Fatal(err)
	}
	i.Cleanup(func() { _ = server.Kill() })
	return server
}

// takeTurns has one server write, the other read and write further, and the first one read again. All values that the first one
// stores begin with stored.
func (i *interop) takeTurns(first, second func() *process.Server, stored string) {
	i.Helper()
	server := first()
	client := dynamicClient(i.T, server)
	i.writeAll(client)
	i.expectStored(stored)
	written := i.everything(client)
	i.end(server)

	server = second()
	client = dynamicClient(i.T, server)
	i.equal("what the first has written", written, i.everything(client))
	i.changeAll(client)
	changed := i.everything(client)
	i.end(server)

	server = first()
	i.equal("what the second has changed", changed, i.everything(dynamicClient(i.T, server)))
	i.end(server)
}

// end ends a server. All that it has acknowledged is in etcd, so nothing needs to be waited for: upstream takes its time to stop.
func (i *interop) end(server *process.Server) {
	i.Helper()
	if err := server.Kill(); err != nil {
		i.Fatal(err)
	}
}

func (i *interop) equal(what string, want, got map[string]string) {
	i.Helper()
	if len(want) < 10 {
		i.Fatalf("%s: only %d objects", what, len(want))
	}
	for name := range want {
		if want[name] != got[name] {
			i.Errorf("%s: %s is\n%s\nwant\n%s", what, name, got[name], want[name])
		}
	}
	if len(got) != len(want) {
		i.Errorf("%s: %d objects, want %d", what, len(got), len(want))
	}
}

// expectStored looks at the values of custom resources in etcd.
func (i *interop) expectStored(prefix string) {
	i.Helper()
	found, err := i.etcd.Client.Get(i.Context(), "/registry/", clientv3.WithPrefix())
	if err != nil {
		i.Fatal(err)
	}
	count := 0
	for _, kv := range found.Kvs {
		if !strings.Contains(string(kv.Key), ".example.com/") || strings.Contains(string(kv.Key), "/apiextensions.k8s.io/") {
			continue
		}
		count++
		if !bytes.HasPrefix(kv.Value, []byte(prefix)) {
			i.Errorf("%s begins with %.30q, not with %q", kv.Key, kv.Value, prefix)
		}
	}
	if count < 5 {
		i.Errorf("only %d objects are stored", count)
	}
}
