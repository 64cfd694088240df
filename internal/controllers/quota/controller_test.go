package quota

import (
	"context"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apiserver/pkg/admission"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

func configMaps(n int64) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceConfigMaps: *apiresource.NewQuantity(n, apiresource.DecimalSI)}
}

// TestReservationIsTakenBack checks that the usage becomes the number of objects when a creation has failed, and that
// this works for the next controller too.
func TestReservationIsTakenBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.controller.settle = 10 * time.Millisecond
	f.putMap(t, "x", "a")
	f.putMap(t, "y", "b")
	for range 2 {
		f.putQuota(t, configMaps(3), configMaps(1))
		if err := f.admission.Reserve(t.Context(), "x", func() admission.Attributes { return attributes("x") }); err != nil {
			t.Fatal(err)
		}
		f.awaitUsed(t, 2)
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { f.controller.Run(ctx) })
		f.awaitUsed(t, 1)
		stop()
		running.Wait()
	}
}

// TestReservationIsKept checks that a deletion does not take back the reservation of an object that is being created.
func TestReservationIsKept(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.controller.settle = time.Hour
	f.putMap(t, "x", "a")
	f.putMap(t, "x", "b")
	f.putQuota(t, configMaps(3), configMaps(2))
	if err := f.admission.Reserve(t.Context(), "x", func() admission.Attributes { return attributes("x") }); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	r := f.controller.newRun()
	t.Cleanup(func() {
		stop()
		r.queue.ShutDown()
		r.observing.Wait()
	})
	entry, _, err := f.ResourceAt(plural).Get(ctx, "x/q", dynamicstorage.ReadAt{Mode: dynamicstorage.Consistent})
	if err != nil {
		t.Fatal(err)
	}
	r.changed(entry)
	if err := r.sync(ctx, "x/q"); err != nil {
		t.Fatal(err)
	}
	if used := f.used(t); used != 3 {
		t.Errorf("used %d before the deletion, want 3", used)
	}
	f.remove(t, "configmaps", "x/a")
	key, _ := r.queue.Get() // when the deletion is observed
	if err := r.sync(ctx, key); err != nil {
		t.Fatal(err)
	}
	if used := f.used(t); used != 2 {
		t.Errorf("used %d after the deletion, want 2", used)
	}
	r.queue.Done(key)
}

// awaitUsed waits until the quota has a usage.
func (f *fixture) awaitUsed(t *testing.T, want int64) {
	t.Helper()
	entries := f.ResourceAt(plural)
	snapshot, err := entries.Snapshot(t.Context(), dynamicstorage.ReadAt{Mode: dynamicstorage.Consistent})
	if err != nil {
		t.Fatal(err)
	}
	watcher, err := entries.Watch(t.Context(), snapshot.Revision)
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Close()
	for {
		if f.used(t) == want {
			return
		}
		if _, err := watcher.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func (f *fixture) used(t *testing.T) int64 {
	t.Helper()
	found, err := f.controller.quotas.list(t.Context(), "x", dynamicstorage.Consistent)
	if err != nil {
		t.Fatal(err)
	}
	used := found[0].Status.Used[corev1.ResourceConfigMaps]
	return used.Value()
}

// BenchmarkReserveWithoutQuota measures what quotas cost a creation in a namespace that has none.
func BenchmarkReserveWithoutQuota(b *testing.B) {
	f := newFixture(b)
	f.putQuota(b, configMaps(3), configMaps(1))
	b.ReportAllocs()
	for b.Loop() {
		if err := f.admission.Reserve(b.Context(), "y", nil); err != nil {
			b.Fatal(err)
		}
	}
}
