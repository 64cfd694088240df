package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/crd-server/crd-server/test/etcd/cluster"
	"github.com/crd-server/crd-server/test/process"
	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
)

// buildUpstream builds upstream's server (test/upstream), once.
var buildUpstream = sync.OnceValues(func() (string, error) {
	path := absolute("../../build/e2e/upstream")
	build := exec.Command("go", "build", "-o", path, ".")
	build.Dir = "../upstream"
	if printed, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build upstream: %w\n%s", err, printed)
	}
	return path, nil
})

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
	return &interop{T: t, etcd: startEtcd(t, 1), upstream: upstream, ours: ours}
}

func (i *interop) startOurs() *process.Server {
	i.Helper()
	args := append([]string{"--etcd-servers", i.etcd.Endpoints()[0]}, i.ours...)
	return start(i.T, process.Options{DataDir: filepath.Join(i.TempDir(), "data"), Args: args})
}

func (i *interop) startUpstream() *process.Server {
	i.Helper()
	path, err := buildUpstream()
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

// writeAll creates the samples. Websites are first stored in one version, then in another.
func (i *interop) writeAll(client dynamic.Interface) {
	i.Helper()
	definitions := readManifests(i.T, samplesDir+"/*.yaml")
	for _, definition := range definitions {
		if definition.GetName() == "websites.web.example.com" {
			storeAs(i.T, definition, "v1beta1")
		}
	}
	createCRDs(i.T, client, definitions)
	i.eventually(func(ctx context.Context) error {
		old := parseManifests(i.T, "old", []byte(oldWebsite))[0]
		_, err := client.Resource(gvr("web.example.com", "v1beta1", "websites")).Namespace("default").Create(ctx, old, metav1.CreateOptions{})
		return err
	})
	websites, err := client.Resource(crdResource).Get(i.Context(), "websites.web.example.com", metav1.GetOptions{})
	if err != nil {
		i.Fatal(err)
	}
	storeAs(i.T, websites, "v1")
	if _, err := client.Resource(crdResource).Update(i.Context(), websites, metav1.UpdateOptions{}); err != nil {
		i.Fatal(err)
	}
	for _, object := range readManifests(i.T, samplesDir+"/objects/*.yaml") {
		resource := resources[object.GetKind()]
		resource.Version = object.GroupVersionKind().Version
		i.eventually(func(ctx context.Context) error {
			_, err := client.Resource(resource).Namespace(object.GetNamespace()).Create(ctx, object, metav1.CreateOptions{})
			return err
		})
	}
	crontabs := client.Resource(resources["CronTab"]).Namespace("default")
	status := []byte(`{"status":{"replicas":1,"labelSelector":"a=b"}}`)
	if _, err := crontabs.Patch(i.Context(), "report", types.MergePatchType, status, metav1.PatchOptions{}, "status"); err != nil {
		i.Fatal(err)
	}
	held := []byte(`{"metadata":{"finalizers":["example.com/hold"]}}`)
	if _, err := crontabs.Patch(i.Context(), "cleanup", types.MergePatchType, held, metav1.PatchOptions{}); err != nil {
		i.Fatal(err)
	}
	if err := crontabs.Delete(i.Context(), "cleanup", metav1.DeleteOptions{}); err != nil {
		i.Fatal(err)
	}
}

const oldWebsite = `{apiVersion: web.example.com/v1beta1, kind: Website, metadata: {name: old}, spec: {domain: old.example.com, repository: "https://example.com/old", port: http}}`

// changeAll changes every object, and makes and deletes some.
func (i *interop) changeAll(client dynamic.Interface) {
	i.Helper()
	for _, resource := range resources {
		list, err := client.Resource(resource).List(i.Context(), metav1.ListOptions{})
		if err != nil {
			i.Fatal(err)
		}
		for _, object := range list.Items {
			within := client.Resource(resource).Namespace(object.GetNamespace())
			patch := []byte(`{"metadata":{"annotations":{"changed":"yes"}}}`)
			if _, err := within.Patch(i.Context(), object.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
				i.Fatal(err)
			}
		}
	}
	crontabs := client.Resource(resources["CronTab"]).Namespace("default")
	released := []byte(`{"metadata":{"finalizers":null}}`)
	if _, err := crontabs.Patch(i.Context(), "cleanup", types.MergePatchType, released, metav1.PatchOptions{}); err != nil {
		i.Fatal(err)
	}
	applied := []byte(`{"apiVersion":"infra.example.com/v1","kind":"Region","metadata":{"name":"applied"},"spec":{"location":"x","zones":["a"]}}`)
	options := metav1.PatchOptions{FieldManager: "interop"}
	if _, err := client.Resource(resources["Region"]).Patch(i.Context(), "applied", types.ApplyPatchType, applied, options); err != nil {
		i.Fatal(err)
	}
}

// everything reads all CRDs, and all objects in all versions, as JSON by what they are. It waits until all is served.
func (i *interop) everything(client dynamic.Interface) map[string]string {
	i.Helper()
	all := map[string]string{}
	for _, resource := range append(slices.Collect(maps.Values(resources)), crdResource, gvr("web.example.com", "v1beta1", "websites")) {
		i.eventually(func(ctx context.Context) error {
			list, err := client.Resource(resource).List(ctx, metav1.ListOptions{})
			if err != nil {
				return err
			}
			for _, object := range list.Items {
				encoded, err := json.MarshalIndent(object.Object, "", " ")
				if err != nil {
					return err
				}
				all[fmt.Sprint(resource.GroupVersion(), " ", object.GetKind(), " ", object.GetNamespace(), "/", object.GetName())] = string(encoded)
			}
			return nil
		})
	}
	return all
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

// eventually repeats what a server that does not serve a new CRD yet refuses.
func (i *interop) eventually(do func(context.Context) error) {
	i.Helper()
	var err error
	waited := wait.PollUntilContextTimeout(i.Context(), pollInterval, patience, true, func(ctx context.Context) (bool, error) {
		if err = do(ctx); apierrors.IsNotFound(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsTooManyRequests(err) {
			return false, nil
		}
		return err == nil, err
	})
	if waited != nil {
		i.Fatal(waited, err)
	}
}

func gvr(group, version, resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: version, Resource: resource}
}

// storeAs has a CRD store a version.
func storeAs(t *testing.T, definition *unstructured.Unstructured, version string) {
	t.Helper()
	versions, _, err := unstructured.NestedSlice(definition.Object, "spec", "versions")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range versions {
		entry := entry.(map[string]any)
		entry["storage"] = entry["name"] == version
	}
	if err := unstructured.SetNestedSlice(definition.Object, versions, "spec", "versions"); err != nil {
		t.Fatal(err)
	}
}
