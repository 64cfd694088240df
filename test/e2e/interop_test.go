package e2e

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/crd-server/crd-server/test/etcd/cluster"
	"github.com/crd-server/crd-server/test/process"
	"github.com/crd-server/crd-server/test/programs"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// encryptionKey is the key in encrypting.
const encryptionKey = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

// encrypting is an EncryptionConfiguration for all objects of the test.
const encrypting = `kind: EncryptionConfiguration
apiVersion: apiserver.config.k8s.io/v1
resources:
- resources: ["*.*"]
  providers:
  - aescbc: {keys: [{name: first, secret: ` + encryptionKey + `}]}
  - identity: {}
`

// TestInterop lets upstream's server and crd-server use one etcd in turns. Each must serve what the other has stored,
// to the last field, and update it.
func TestInterop(t *testing.T) {
	t.Parallel()
	encryption := filepath.Join(t.TempDir(), "encryption.yaml")
	if err := os.WriteFile(encryption, []byte(encrypting), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name           string
		upstream, ours []string
		// stored is the prefix of all values of custom resources that a server writes to etcd; only upstream writes
		// CBOR.
		byUpstream, byOurs string
	}{
		{name: "JSON", byUpstream: "{", byOurs: "{"},
		{name: "CBOR", upstream: []string{"--feature-gates=CBORServingAndStorage=true"}, byUpstream: "\xd9\xd9\xf7",
			byOurs: "{"},
		{
			name: "encrypted", upstream: []string{"--encryption-provider-config", encryption},
			ours:       []string{"--encryption-provider-config", encryption},
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

// TestMoved copies the keys of CRDs and objects from the etcd of upstream's server to another etcd, where they get
// other revisions. crd-server must serve them unchanged except for resourceVersions.
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

// resourceVersion matches the resourceVersion of an object in the result of everything.
var resourceVersion = regexp.MustCompile(`"resourceVersion": "\d+",?`)

// interop is an etcd that two servers use in turns.
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
	args := slices.Concat(process.CustomResourcesOnly, []string{"--etcd-servers", i.etcd.Endpoints()[0]}, i.ours)
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
	server, err := process.Start(ctx, process.Options{Binary: path, DataDir: filepath.Join(i.TempDir(), "data"),
		Args: args})
	if err != nil {
		i.Fatal(err)
	}
	i.Cleanup(func() { _ = server.Kill() })
	return server
}

// takeTurns lets the first server write, the second read and write, and the first read again. All values that the
// first server stores must begin with stored.
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

// end kills a server: etcd has everything that it has acknowledged, and upstream stops slowly.
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

// expectStored checks the values of custom resources in etcd.
func (i *interop) expectStored(prefix string) {
	i.Helper()
	found, err := i.etcd.Client.Get(i.Context(), "/registry/", clientv3.WithPrefix())
	if err != nil {
		i.Fatal(err)
	}
	count := 0
	for _, kv := range found.Kvs {
		if !strings.Contains(string(kv.Key), ".example.com/") ||
			strings.Contains(string(kv.Key), "/apiextensions.k8s.io/") {
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
