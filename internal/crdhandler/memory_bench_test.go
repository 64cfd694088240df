package crdhandler

import (
	"fmt"
	"net/http"
	"runtime"
	"testing"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// BenchmarkMemory tells what an object takes in memory besides its bytes, after it was created here and after it was
// loaded.
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
	snapshot, err := w.served.storage.resource.Snapshot(b.Context(),
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
			w.served.storage.resource.Release()
			b.ReportMetric(float64(warm-liveHeap()-bytes)/objects, "B/object-besides-its-bytes")
			b.ReportMetric(float64(bytes)/objects, "B/object")
			list()
		})
	}
}

// liveHeap returns the bytes of the heap that are in use.
func liveHeap() int64 {
	runtime.GC()
	runtime.GC() // what pools held is gone after the second
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
