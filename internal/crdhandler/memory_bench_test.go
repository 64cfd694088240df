package crdhandler

import (
	"fmt"
	"net/http"
	"runtime"
	"testing"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// BenchmarkMemory reports the memory of an object besides its bytes, for objects that were created through the server
// and for objects that were loaded.
func BenchmarkMemory(b *testing.B) {
	const objects = 10_000
	store := newStore(b, dynamicstorage.Options{Header: widgetHeader})
	w := &writing{TB: b, served: infoOf(b, &Config{Store: store, MaxRequestBodyBytes: 3 << 20},
		machineCRD).versions["v1"]}
	list := func() { w.send(http.MethodGet, "", "", "").is(w, http.StatusOK) }
	list()
	for n := range objects {
		w.send(http.MethodPost, "", "application/json", machine(fmt.Sprintf("m%05d", n), n)).is(w, http.StatusCreated)
	}
	var bytes int64
	snapshot, err := w.served.objects.Resource.Snapshot(b.Context(),
		dynamicstorage.ReadAt{Mode: dynamicstorage.Consistent})
	if err != nil {
		b.Fatal(err)
	}
	for entry := range snapshot.Ascend(b.Context(), "", "") {
		bytes += int64(len(entry.Value))
	}
	snapshot = nil
	for _, state := range []string{"created", "loaded"} {
		b.Run(state, func(b *testing.B) {
			for b.Loop() {
				list()
			}
			warm := liveHeap()
			w.served.objects.Resource.Release()
			b.ReportMetric(float64(warm-liveHeap()-bytes)/objects, "B/object-besides-its-bytes")
			b.ReportMetric(float64(bytes)/objects, "B/object")
			list()
		})
	}
}

// liveHeap returns the bytes of live objects on the heap.
func liveHeap() int64 {
	runtime.GC()
	runtime.GC() // the second collection empties pools
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
