package e2e

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

// TestInformer runs client-go's dynamic informer, unmodified, and expects events for existing objects and for
// changes.
func TestInformer(t *testing.T) {
	t.Parallel()
	server := run(t)
	client := dynamicClient(t, server)
	installSamples(t, server)
	crontabs := client.Resource(resources["CronTab"]).Namespace("default")

	events := make(chan string, 100)
	factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
	informer := factory.ForResource(resources["CronTab"]).Informer()
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, initial bool) { events <- told("added", object) },
		UpdateFunc: func(old, object any) {
			before, after := old.(*unstructured.Unstructured), object.(*unstructured.Unstructured)
			if before.GetResourceVersion() != after.GetResourceVersion() {
				events <- told("updated", object)
			}
		},
		DeleteFunc: func(object any) { events <- told("deleted", object) },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	factory.Start(ctx.Done())
	t.Cleanup(func() {
		cancel()
		factory.Shutdown()
	})
	if !cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		t.Fatal("the informer has not synced")
	}
	expectEvents(t, ctx, events, "added cleanup 1", "added report 2")

	patch := []byte(`{"spec":{"replicas":7}}`)
	if _, err := crontabs.Patch(ctx, "report", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	expectEvents(t, ctx, events, "updated report 7")

	fresh, err := crontabs.Get(ctx, "cleanup", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	fresh.SetName("fresh")
	fresh.SetResourceVersion("")
	if _, err := crontabs.Create(ctx, fresh, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	expectEvents(t, ctx, events, "added fresh 1")

	if err := crontabs.Delete(ctx, "report", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	expectEvents(t, ctx, events, "deleted report 7")
	if kept := informer.GetStore().ListKeys(); len(kept) != 2 {
		t.Errorf("the informer keeps %v, not cleanup and fresh", kept)
	}
}

// told describes an event of a CronTab.
func told(what string, object any) string {
	crontab := object.(*unstructured.Unstructured)
	replicas, _, _ := unstructured.NestedInt64(crontab.Object, "spec", "replicas")
	return fmt.Sprintf("%s %s %d", what, crontab.GetName(), replicas)
}

// expectEvents waits for exactly these events, in any order.
func expectEvents(t *testing.T, ctx context.Context, events <-chan string, want ...string) {
	t.Helper()
	missing := map[string]bool{}
	for _, event := range want {
		missing[event] = true
	}
	for len(missing) > 0 {
		select {
		case event := <-events:
			if !missing[event] {
				t.Fatalf("unexpected event %q, waiting for %v", event, missing)
			}
			delete(missing, event)
		case <-ctx.Done():
			t.Fatalf("never happened: %v", missing)
		}
	}
}
