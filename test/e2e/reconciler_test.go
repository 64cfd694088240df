package e2e

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/crd-server/crd-server/test/process"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/recorder"
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

// databaseReconciler gives every CronTab a Database and a Secret, reports it in the status of the CronTab and in an
// event, and records the end of the CronTab. It uses finalizers, owner references, the status and events, as
// controllers do. The garbage collector deletes what it has made.
type databaseReconciler struct {
	client.Client
	recorder recorder.EventRecorder
}

func (r databaseReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	crontab := newObject(crontabKind, request.Namespace, request.Name)
	if err := r.Get(ctx, request.NamespacedName, crontab); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if crontab.GetDeletionTimestamp() != nil {
		if controllerutil.RemoveFinalizer(crontab, hold) {
			r.recorder.Eventf(crontab, nil, corev1.EventTypeNormal, "Ended", "End", "the CronTab may go")
			return ctrl.Result{}, r.Update(ctx, crontab)
		}
		return ctrl.Result{}, nil
	}
	if controllerutil.AddFinalizer(crontab, hold) {
		if err := r.Update(ctx, crontab); err != nil {
			return ctrl.Result{}, fmt.Errorf("add finalizer: %w", err)
		}
	}
	if err := r.writeOwned(ctx, crontab); err != nil {
		return ctrl.Result{}, err
	}
	replicas, _, _ := unstructured.NestedInt64(crontab.Object, "spec", "replicas")
	before := crontab.DeepCopy()
	if err := unstructured.SetNestedField(crontab.Object, replicas, "status", "replicas"); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.Status().Patch(ctx, crontab, client.MergeFrom(before))
}

// writeOwned creates the Database and the Secret.
func (r databaseReconciler) writeOwned(ctx context.Context, crontab *unstructured.Unstructured) error {
	database := newObject(databaseKind, crontab.GetNamespace(), crontab.GetName())
	result, err := controllerutil.CreateOrUpdate(ctx, r.Client, database, func() error {
		if err := unstructured.SetNestedField(database.Object, "postgres", "spec", "engine"); err != nil {
			return err
		}
		return controllerutil.SetControllerReference(crontab, database, r.Scheme())
	})
	if err != nil {
		return fmt.Errorf("write database: %w", err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: crontab.GetNamespace(), Name: crontab.GetName()}}
	_, err = controllerutil.CreateOrUpdate(ctx, r.Client, secret, func() error {
		secret.Data = map[string][]byte{"password": []byte("hunter2")}
		return controllerutil.SetControllerReference(crontab, secret, r.Scheme())
	})
	if err != nil {
		return fmt.Errorf("write secret: %w", err)
	}
	if result == controllerutil.OperationResultCreated {
		r.recorder.Eventf(crontab, database, corev1.EventTypeNormal, "Created", "Create", "database %s", database.GetName())
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

// TestControllerRuntime runs a manager of controller-runtime with a reconciler, and a second one that takes over. The
// server is killed in between.
func TestControllerRuntime(t *testing.T) {
	t.Parallel()
	log.SetLogger(logr.Discard())
	options := process.Options{DataDir: filepath.Join(t.TempDir(), "data")}
	running := start(t, options)
	installSamples(t, running)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	// The terms of the first one are short, because it does not give the Lease back.
	first, die := startManager(t, running, ctrl.Options{
		LeaseDuration: ptr.To(2 * time.Second), RenewDeadline: ptr.To(time.Second),
		RetryPeriod: ptr.To(100 * time.Millisecond),
	})
	crontab := newObject(crontabKind, "default", "report")
	awaitReplicas(t, ctx, first, crontab, 2)
	checkOwned(t, ctx, first.GetAPIReader(), crontab)
	second, stop := startManager(t, running, ctrl.Options{RetryPeriod: ptr.To(100 * time.Millisecond)})
	defer stop()
	die()
	scale(t, ctx, second, 4)
	awaitReplicas(t, ctx, second, crontab, 4)

	if err := running.Kill(); err != nil {
		t.Fatal(err)
	}
	options.Port = running.Port()
	start(t, options)
	scale(t, ctx, second, 6)
	awaitReplicas(t, ctx, second, crontab, 6)

	if err := second.GetClient().Delete(ctx, newObject(crontabKind, "default", "report")); err != nil {
		t.Fatal(err)
	}
	reader := second.GetAPIReader()
	secretKind := corev1.SchemeGroupVersion.WithKind("Secret")
	for _, kind := range []schema.GroupVersionKind{crontabKind, databaseKind, secretKind} {
		gone := newObject(kind, "default", "report")
		await(t, ctx, kind.Kind+" is gone", func() bool {
			return apierrors.IsNotFound(reader.Get(ctx, client.ObjectKeyFromObject(gone), gone))
		})
	}
	other := newObject(crontabKind, "default", "cleanup")
	awaitReplicas(t, ctx, second, other, 1)
	checkOwned(t, ctx, reader, other)
	awaitEvents(t, ctx, reader, map[string]string{
		"LeaderElection": leaseName, "Created": "report", "Ended": "report",
	})
}

// startManager starts a manager with the reconciler; it stops with the test or with stop.
func startManager(t *testing.T, running *process.Server, options ctrl.Options) (manager ctrl.Manager, stop func()) {
	t.Helper()
	options.Metrics.BindAddress = "0"
	options.Controller.SkipNameValidation = ptr.To(true) // other managers have one of the same name
	options.LeaderElection, options.LeaderElectionNamespace, options.LeaderElectionID = true, "default", leaseName
	manager, err := ctrl.NewManager(adminConfig(t, running), options)
	if err != nil {
		t.Fatal(err)
	}
	err = ctrl.NewControllerManagedBy(manager).
		For(newObject(crontabKind, "", "")).
		Owns(newObject(databaseKind, "", "")).
		Owns(&corev1.Secret{}).
		Complete(databaseReconciler{manager.GetClient(), manager.GetEventRecorder("databases")})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- manager.Start(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-stopped; err != nil {
			t.Errorf("the manager failed: %v", err)
		}
	})
	t.Cleanup(stop)
	return manager, stop
}

// scale sets the replicas of the CronTab report. It repeats the request while the server starts.
func scale(t *testing.T, ctx context.Context, manager ctrl.Manager, replicas int) {
	t.Helper()
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas))
	await(t, ctx, "the CronTab is scaled", func() bool {
		return manager.GetClient().Patch(ctx, newObject(crontabKind, "default", "report"), patch) == nil
	})
}

// awaitReplicas waits until the reconciler has written the replicas of a CronTab.
func awaitReplicas(t *testing.T, ctx context.Context, manager ctrl.Manager, crontab *unstructured.Unstructured,
	want int64) {
	t.Helper()
	await(t, ctx, "status follows spec", func() bool {
		mustGet(t, ctx, manager.GetAPIReader(), crontab)
		replicas, _, _ := unstructured.NestedInt64(crontab.Object, "status", "replicas")
		return replicas == want
	})
}

// checkOwned checks that a CronTab has its finalizer, a Database and a Secret.
func checkOwned(t *testing.T, ctx context.Context, reader client.Reader, crontab *unstructured.Unstructured) {
	t.Helper()
	mustGet(t, ctx, reader, crontab)
	if !controllerutil.ContainsFinalizer(crontab, hold) {
		t.Errorf("finalizers are %v", crontab.GetFinalizers())
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: crontab.GetNamespace(), Name: crontab.GetName()}}
	for _, owned := range []client.Object{newObject(databaseKind, crontab.GetNamespace(), crontab.GetName()), secret} {
		mustGet(t, ctx, reader, owned)
		if owner := metav1.GetControllerOf(owned); owner == nil || owner.UID != crontab.GetUID() || owner.Kind != "CronTab" {
			t.Errorf("the owner of %T is %v", owned, owner)
		}
	}
	if string(secret.Data["password"]) != "hunter2" {
		t.Errorf("the secret is %v", secret.Data)
	}
}

// awaitEvents waits for events: the names of objects by reasons. The events of reconcilers are written by the recorder
// for events.k8s.io/v1, those of leader election by the one for v1; both groups show all of them.
func awaitEvents(t *testing.T, ctx context.Context, reader client.Reader, want map[string]string) {
	t.Helper()
	found := map[string]string{}
	await(t, ctx, fmt.Sprintf("the events %v", want), func() bool {
		var list corev1.EventList
		if err := reader.List(ctx, &list, client.InNamespace("default")); err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			found[list.Items[i].Reason] = list.Items[i].InvolvedObject.Name
		}
		return maps.Equal(found, want)
	})
	var list eventsv1.EventList
	if err := reader.List(ctx, &list, client.InNamespace("default")); err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		delete(found, list.Items[i].Reason)
	}
	if len(found) > 0 {
		t.Errorf("events.k8s.io/v1 lacks %v", found)
	}
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

func mustGet(t *testing.T, ctx context.Context, reader client.Reader, object client.Object) {
	t.Helper()
	if err := reader.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		t.Fatal(err)
	}
}
