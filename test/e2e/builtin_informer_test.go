package e2e

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/crd-server/crd-server/test/process"
)

// builtinKinds are the kinds that TestBuiltinInformers creates.
var builtinKinds = map[schema.GroupVersionResource]string{
	{Version: "v1", Resource: "configmaps"}:                                   "ConfigMap",
	{Version: "v1", Resource: "secrets"}:                                      "Secret",
	{Version: "v1", Resource: "serviceaccounts"}:                              "ServiceAccount",
	{Version: "v1", Resource: "resourcequotas"}:                               "ResourceQuota",
	{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}:         "Lease",
	{Version: "v1", Resource: "events"}:                                       "Event",
	{Group: "events.k8s.io", Version: "v1", Resource: "events"}:               "",
	{Version: "v1", Resource: "namespaces"}:                                   "",
	{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}: "",
}

// TestBuiltinInformers runs client-go's informers of built-in resources while the server is killed: typed ones, over
// protobuf, and those of metadata. Their caches become what the server lists.
func TestBuiltinInformers(t *testing.T) {
	t.Parallel()
	options := process.Options{DataDir: filepath.Join(t.TempDir(), "data")}
	server := start(t, options)
	config := adminConfig(t, server)
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	caches := startInformers(t, ctx, config)
	for resource, kind := range builtinKinds {
		for n := 0; n < 3 && kind != ""; n++ {
			object := newObject(resource.GroupVersion().WithKind(kind), "default", fmt.Sprintf("o%d", n))
			if kind == "Event" {
				object.Object["involvedObject"] = map[string]any{"namespace": "default"}
			}
			if _, err := client.Resource(resource).Namespace("default").Create(ctx, object, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	awaitCaches(t, ctx, client, caches)

	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	options.Port = server.Port()
	start(t, options)
	for resource, kind := range builtinKinds {
		if kind == "" {
			continue
		}
		objects := client.Resource(resource).Namespace("default")
		patch := []byte(`{"metadata":{"labels":{"changed":"yes"}}}`)
		if _, err := objects.Patch(ctx, "o1", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := objects.Delete(ctx, "o2", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	awaitCaches(t, ctx, client, caches)
}

// informerCache is the cache of an informer.
type informerCache struct {
	name     string
	resource schema.GroupVersionResource
	cache.SharedIndexInformer
}

// startInformers starts a typed informer of each kind, if client-go has one, and one of metadata. They stop with ctx.
func startInformers(t *testing.T, ctx context.Context, config *rest.Config) []informerCache {
	t.Helper()
	metadataClient, err := metadata.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	typed := informers.NewSharedInformerFactory(clientset(t, config), 0)
	ofMetadata := metadatainformer.NewSharedInformerFactory(metadataClient, 0)
	var all []informerCache
	for resource := range builtinKinds {
		name := resource.String()
		all = append(all, informerCache{"metadata of " + name, resource, ofMetadata.ForResource(resource).Informer()})
		if informer, err := typed.ForResource(resource); err == nil { // APIServices are not in client-go
			all = append(all, informerCache{name, resource, informer.Informer()})
		}
	}
	typed.Start(ctx.Done())
	ofMetadata.Start(ctx.Done())
	return all
}

// awaitCaches waits until each informer has what the server lists.
func awaitCaches(t *testing.T, ctx context.Context, client dynamic.Interface, all []informerCache) {
	t.Helper()
	for _, one := range all {
		await(t, ctx, one.name+" are as listed", func() bool {
			list, err := client.Resource(one.resource).List(ctx, metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			return one.HasSynced() && maps.Equal(cachedRevisions(t, one), listedRevisions(list))
		})
	}
}

// cachedRevisions returns the resourceVersions in the cache of an informer, by namespace and name.
func cachedRevisions(t *testing.T, informer cache.SharedIndexInformer) map[string]string {
	t.Helper()
	revisions := map[string]string{}
	for _, object := range informer.GetStore().List() {
		about, err := meta.Accessor(object)
		if err != nil {
			t.Fatal(err)
		}
		revisions[about.GetNamespace()+"/"+about.GetName()] = about.GetResourceVersion()
	}
	return revisions
}

func listedRevisions(list *unstructured.UnstructuredList) map[string]string {
	revisions := map[string]string{}
	for i := range list.Items {
		revisions[list.Items[i].GetNamespace()+"/"+list.Items[i].GetName()] = list.Items[i].GetResourceVersion()
	}
	return revisions
}
