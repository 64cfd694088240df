package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/crd-server/crd-server/test/process"
	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

var (
	crontabKind  = schema.GroupVersionKind{Group: "stable.example.com", Version: "v1", Kind: "CronTab"}
	databaseKind = schema.GroupVersionKind{Group: "data.example.com", Version: "v1", Kind: "Database"}
)

const (
	// hold is databaseReconciler's finalizer.
	hold = "example.com/hold"
	// pollInterval is the interval of await.
	pollInterval = 20 * time.Millisecond
)

// databaseReconciler gives every CronTab a Database, reports it in the status of the CronTab, and deletes it with the
// CronTab. It uses a finalizer, an owner reference and the status, as controllers do.
type databaseReconciler struct{ client.Client }

func (r databaseReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	crontab := newObject(crontabKind, request.Namespace, request.Name)
	if err := r.Get(ctx, request.NamespacedName, crontab); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if crontab.GetDeletionTimestamp() != nil {
		return ctrl.Result{}, r.cleanUp(ctx, crontab)
	}
	if controllerutil.AddFinalizer(crontab, hold) {
		if err := r.Update(ctx, crontab); err != nil {
			return ctrl.Result{}, fmt.Errorf("add finalizer: %w", err)
		}
	}
	database := newObject(databaseKind, request.Namespace, request.Name)
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, database, func() error {
		if err := unstructured.SetNestedField(database.Object, "postgres", "spec", "engine"); err != nil {
			return err
		}
		return controllerutil.SetControllerReference(crontab, database, r.Scheme())
	})
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("write database: %w", err)
	}
	replicas, _, _ := unstructured.NestedInt64(crontab.Object, "spec", "replicas")
	before := crontab.DeepCopy()
	if err := unstructured.SetNestedField(crontab.Object, replicas, "status", "replicas"); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.Status().Patch(ctx, crontab, client.MergeFrom(before))
}

// cleanUp deletes the database and removes the finalizer: there is no garbage collector.
func (r databaseReconciler) cleanUp(ctx context.Context, crontab *unstructured.Unstructured) error {
	database := newObject(databaseKind, crontab.GetNamespace(), crontab.GetName())
	if err := client.IgnoreNotFound(r.Delete(ctx, database)); err != nil {
		return fmt.Errorf("delete database: %w", err)
	}
	if controllerutil.RemoveFinalizer(crontab, hold) {
		return r.Update(ctx, crontab)
	}
	return nil
}

func newObject(kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}

// TestControllerRuntime runs a manager of controller-runtime with a reconciler.
func TestControllerRuntime(t *testing.T) {
	t.Parallel()
	log.SetLogger(logr.Discard())
	running := run(t)
	installSamples(t, running)
	manager := startManager(t, running)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	reader := manager.GetAPIReader()

	crontab := newObject(crontabKind, "default", "report")
	await(t, ctx, "status is written", func() bool {
		mustGet(t, ctx, reader, crontab)
		replicas, _, _ := unstructured.NestedInt64(crontab.Object, "status", "replicas")
		return replicas == 2
	})
	if !controllerutil.ContainsFinalizer(crontab, hold) {
		t.Errorf("finalizers are %v", crontab.GetFinalizers())
	}
	database := newObject(databaseKind, "default", "report")
	mustGet(t, ctx, reader, database)
	if owner := metav1.GetControllerOf(database); owner == nil || owner.UID != crontab.GetUID() ||
		owner.Kind != "CronTab" {
		t.Errorf("the database's owner is %v", owner)
	}

	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":4}}`))
	if err := manager.GetClient().Patch(ctx, newObject(crontabKind, "default", "report"), patch); err != nil {
		t.Fatal(err)
	}
	await(t, ctx, "status follows spec", func() bool {
		mustGet(t, ctx, reader, crontab)
		replicas, _, _ := unstructured.NestedInt64(crontab.Object, "status", "replicas")
		return replicas == 4
	})

	if err := manager.GetClient().Delete(ctx, newObject(crontabKind, "default", "report")); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []schema.GroupVersionKind{crontabKind, databaseKind} {
		gone := newObject(kind, "default", "report")
		await(t, ctx, kind.Kind+" is gone", func() bool {
			return apierrors.IsNotFound(reader.Get(ctx, client.ObjectKeyFromObject(gone), gone))
		})
	}
}

// startManager starts a manager with the reconciler; it stops when the test ends.
func startManager(t *testing.T, running *process.Server) ctrl.Manager {
	t.Helper()
	manager, err := ctrl.NewManager(adminConfig(t, running), ctrl.Options{
		Metrics:    server.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: ptr.To(true)}, // other tests may run one of the same name
	})
	if err != nil {
		t.Fatal(err)
	}
	err = ctrl.NewControllerManagedBy(manager).
		For(newObject(crontabKind, "", "")).
		Owns(newObject(databaseKind, "", "")).
		Complete(databaseReconciler{manager.GetClient()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- manager.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-stopped; err != nil {
			t.Errorf("the manager failed: %v", err)
		}
	})
	return manager
}

// await polls until the condition holds.
func await(t *testing.T, ctx context.Context, what string, condition func() bool) {
	t.Helper()
	err := wait.PollUntilContextCancel(ctx, pollInterval, true,
		func(context.Context) (bool, error) { return condition(), nil })
	if err != nil {
		t.Fatalf("never happened: %s", what)
	}
}

func mustGet(t *testing.T, ctx context.Context, reader client.Reader, object *unstructured.Unstructured) {
	t.Helper()
	if err := reader.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		t.Fatal(err)
	}
}
