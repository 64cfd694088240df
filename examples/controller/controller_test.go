package controller

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/crd-server/crd-server/crdservertest"
)

// startManager starts a server, and a manager with the controller, for one test.
func startManager(t *testing.T) client.Client {
	t.Helper()
	restConfig, _ := crdservertest.Start(t, crdservertest.WithCRDPaths("../../crdservertest/testdata"))
	sameName := true // in this process each test has a controller with this name
	manager, err := ctrl.NewManager(restConfig, ctrl.Options{
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: &sameName},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := (&Reconciler{manager.GetClient()}).SetupWithManager(manager); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	t.Cleanup(func() { // before the server stops
		stop()
		if err := <-ended; err != nil {
			t.Errorf("manager: %v", err)
		}
	})
	direct, err := client.New(restConfig, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return direct
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func(ctx context.Context) (bool, error)) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true, holds)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func TestTableIsOrdered(t *testing.T) {
	t.Parallel()
	c := startManager(t)
	table := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": "default", "name": "one"}, "spec": map[string]any{"legs": int64(4)},
	}}
	table.SetGroupVersionKind(TableKind)
	if err := c.Create(t.Context(), table); err != nil {
		t.Fatal(err)
	}
	order := &corev1.ConfigMap{}
	key := client.ObjectKey{Namespace: "default", Name: "one-order"}
	eventually(t, "the order of the table", func(ctx context.Context) (bool, error) {
		err := c.Get(ctx, key, order)
		return err == nil && order.Data["legs"] == "4", client.IgnoreNotFound(err)
	})

	// The server collects garbage, as Kubernetes does.
	if err := c.Delete(t.Context(), table); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the order ends with the table", func(ctx context.Context) (bool, error) {
		err := c.Get(ctx, key, order)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}

// TestNoTableNoOrder has a server of its own, and does not see the table of the other test.
func TestNoTableNoOrder(t *testing.T) {
	t.Parallel()
	c := startManager(t)
	orders := &corev1.ConfigMapList{}
	if err := c.List(t.Context(), orders, client.InNamespace("default")); err != nil {
		t.Fatal(err)
	}
	for _, order := range orders.Items {
		if order.Name != "kube-root-ca.crt" {
			t.Errorf("there is %s", order.Name)
		}
	}
}
