package e2e

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/crd-server/crd-server/test/etcd/cluster"
	"github.com/crd-server/crd-server/test/process"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
)

// TestCompactedLists checks that lists at revisions that were compacted are refused although they are in memory: on
// the etcd in the server's process, on an external one, and by a replica that does not compact. Nothing is written
// meanwhile.
func TestCompactedLists(t *testing.T) {
	t.Parallel()
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		server := run(t, "--etcd-compaction-interval=1s")
		expires(t, dynamicClient(t, server))
	})
	t.Run("replicas", func(t *testing.T) {
		t.Parallel()
		etcd := "--etcd-servers=" + cluster.Start(t, 1).Endpoints()[0]
		compacts, other := run(t, etcd, "--etcd-compaction-interval=1s"), start(t, process.Options{
			DataDir: filepath.Join(t.TempDir(), "data"), Args: []string{etcd, "--etcd-compaction-interval=0"}})
		expires(t, dynamicClient(t, compacts), dynamicClient(t, other))
	})
}

// expires checks the lists of a custom and of a built-in resource. Each client is one of another replica.
func expires(t *testing.T, clients ...dynamic.Interface) {
	t.Helper()
	createCRDs(t, clients[0], readManifests(t, samplesDir+"/regions.yaml"))
	for _, sample := range []struct {
		resource  schema.GroupVersionResource
		kind      string
		namespace string
	}{
		{resource: resources["Region"], kind: "Region"},
		{resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, kind: "ConfigMap",
			namespace: "kube-public"},
	} {
		object := &unstructured.Unstructured{Object: map[string]any{}}
		object.SetGroupVersionKind(sample.resource.GroupVersion().WithKind(sample.kind))
		if sample.kind == "Region" {
			object.Object["spec"] = map[string]any{"location": "north"}
		}
		var lists []dynamic.ResourceInterface
		for _, client := range clients {
			lists = append(lists, client.Resource(sample.resource).Namespace(sample.namespace))
		}
		for n := range 6 {
			object.SetName(fmt.Sprint("object-", n))
			if _, err := lists[0].Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		for _, list := range lists {
			t.Run(sample.kind, func(t *testing.T) {
				t.Parallel()
				checkExpiry(t, list)
			})
		}
	}
}

// checkExpiry reads a page, waits until its token has expired, and goes on with the token of that answer, as
// upstream's conformance test of chunking does.
func checkExpiry(t *testing.T, objects dynamic.ResourceInterface) {
	first, err := objects.List(t.Context(), metav1.ListOptions{Limit: 2})
	if err != nil {
		t.Fatal(err)
	}
	continued := metav1.ListOptions{Limit: 2, Continue: first.GetContinue()}
	var expired error
	err = wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true,
		func(ctx context.Context) (bool, error) {
			_, expired = objects.List(ctx, continued)
			return expired != nil, nil
		})
	if err != nil || !apierrors.IsResourceExpired(expired) {
		t.Fatalf("the token does not expire: %v, %v", err, expired)
	}
	var status apierrors.APIStatus
	if !errors.As(expired, &status) {
		t.Fatalf("not a status: %v", expired)
	}
	_, err = objects.List(t.Context(), metav1.ListOptions{ResourceVersion: first.GetResourceVersion(),
		ResourceVersionMatch: metav1.ResourceVersionMatchExact})
	if !apierrors.IsResourceExpired(err) {
		t.Errorf("a list at the compacted revision: %v", err)
	}
	rest, err := objects.List(t.Context(), metav1.ListOptions{Continue: status.Status().Continue})
	if err != nil {
		t.Fatalf("a list that goes on at another revision: %v", err)
	}
	if rest.GetResourceVersion() == first.GetResourceVersion() || len(rest.Items) < 4 {
		t.Errorf("%d objects follow at %s, the first page was at %s", len(rest.Items), rest.GetResourceVersion(),
			first.GetResourceVersion())
	}
}
