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

func maps(n int64) corev1.ResourceList {
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
		f.putQuota(t, maps(3), maps(1))
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
		found, err := f.controller.quotas.list(t.Context(), "x", dynamicstorage.Consistent)
		if err != nil {
			t.Fatal(err)
		}
		if used := found[0].Status.Used[corev1.ResourceConfigMaps]; used.Value() == want {
			return
		}
		if _, err := watcher.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// BenchmarkReserveWithoutQuota measures what quotas cost a creation in a namespace that has none.
func BenchmarkReserveWithoutQuota(b *testing.B) {
	f := newFixture(b)
	f.putQuota(b, maps(3), maps(1))
	b.ReportAllocs()
	for b.Loop() {
		if err := f.admission.Reserve(b.Context(), "y", nil); err != nil {
			b.Fatal(err)
		}
	}
}
