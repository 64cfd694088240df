package aggregator

import (
	"context"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

var crontabs = schema.GroupVersionResource{Group: "stable.example.com", Version: "v1", Resource: "crontabs"}

func newCronTab(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"cronSpec": "* * * * *", "image": "registry.example.com/" + name + ":1"},
	}}
}

// TestRestart restarts crd-server behind the aggregator. Requests get 503 in the meantime and work afterwards, and a
// client's watch resumes.
func TestRestart(t *testing.T) {
	t.Parallel()
	i := install(t)
	i.kubectl(i.server.Kubeconfig).run("apply", "-f", samples)
	i.available("v1.stable.example.com")
	client := dynamic.NewForConfigOrDie(i.config(i.kubeconfig("jane",
		"editors"))).Resource(crontabs).Namespace("default")
	created, err := client.Create(t.Context(), newCronTab("before"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	watching, err := watchtools.NewRetryWatcherWithContext(ctx, created.GetResourceVersion(), &cache.ListWatch{
		WatchFuncWithContext: client.Watch,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer watching.Stop()
	expect := func(kind watch.EventType, name string) {
		t.Helper()
		select {
		case event := <-watching.ResultChan():
			if object, ok := event.Object.(*unstructured.Unstructured); !ok || event.Type != kind ||
				object.GetName() != name {
				t.Fatalf("the watch says %v, not that %s is %s", event, name, kind)
			}
		case <-ctx.Done():
			t.Fatalf("the watch never says that %s is %s", name, kind)
		}
	}
	if _, err := client.Create(ctx, newCronTab("seen"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	expect(watch.Added, "seen")

	for _, end := range []func() error{i.server.Stop, func() error { return i.server.Kill() }} {
		began := time.Now()
		if err := end(); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Get(ctx, "seen", metav1.GetOptions{}); !apierrors.IsServiceUnavailable(err) {
			t.Errorf("without crd-server, a request ends with %v, not with 503", err)
		}
		i.start()
		i.eventually("requests work again", func(ctx context.Context) (string, error) {
			_, err := client.Get(ctx, "seen", metav1.GetOptions{})
			if apierrors.IsServiceUnavailable(err) {
				return err.Error(), nil
			}
			return "", err
		})
		name := "after-" + began.UTC().Format("150405.000")
		if _, err := client.Create(ctx, newCronTab(name), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		expect(watch.Added, name)
	}
}
