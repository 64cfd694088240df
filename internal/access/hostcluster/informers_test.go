package hostcluster

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// TestInformersFollowTheCluster starts the informers of the admission plugins and reads from their caches.
func TestInformersFollowTheCluster(t *testing.T) {
	t.Parallel()
	cluster := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Query().Get("sendInitialEvents") != "":
			w.WriteHeader(http.StatusUnprocessableEntity)
		case r.URL.Query().Get("watch") != "":
			<-r.Context().Done()
		case r.URL.Path == "/api/v1/namespaces":
			_, _ = w.Write([]byte(`{"kind":"NamespaceList","apiVersion":"v1","metadata":{"resourceVersion":"1"},
				"items":[{"metadata":{"name":"default"}}]}`))
		case r.URL.Path == "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations":
			_, _ = w.Write([]byte(`{"kind":"ValidatingWebhookConfigurationList","apiVersion":"admissionregistration.k8s.io/v1",
				"metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"hook"}}]}`))
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(cluster.Close)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: cluster.URL})
	if err != nil {
		t.Fatal(err)
	}
	shared := NewInformers(client)
	namespaces := shared.Core().V1().Namespaces()
	webhooks := shared.Admissionregistration().V1().ValidatingWebhookConfigurations()
	synced := []cache.DoneChecker{namespaces.Informer().HasSyncedChecker(), webhooks.Informer().HasSyncedChecker()}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { shared.Run(ctx) })
	t.Cleanup(func() { stop(); running.Wait() })
	if !cache.WaitFor(t.Context(), "", synced...) {
		t.Fatal(t.Context().Err())
	}
	if _, err := namespaces.Lister().Get("default"); err != nil {
		t.Error(err)
	}
	if _, err := webhooks.Lister().Get("hook"); err != nil {
		t.Error(err)
	}
	if _, err := client.CoreV1().Namespaces().Get(t.Context(), "other", metav1.GetOptions{}); err == nil {
		t.Error("a namespace that does not exist was found")
	}
}

// TestUnknownResourceHasNoInformer shows that policies fall back to the dynamic client.
func TestUnknownResourceHasNoInformer(t *testing.T) {
	t.Parallel()
	if _, err := NewInformers(nil).ForResource(schema.GroupVersionResource{Version: "v1",
		Resource: "configmaps"}); err == nil {
		t.Error("an informer for a resource without one")
	}
}
