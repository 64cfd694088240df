//go:build !library && !race

package server

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

// peakHeap returns how much the live heap grows beyond what it is now while do runs. The collector runs each time the
// heap has grown by limit, and then all the time, and peakHeap returns the most that it has found. So the heap has
// never grown by more than limit if the result is less.
func peakHeap(limit uint64, do func()) uint64 {
	debug.FreeOSMemory()
	before := liveHeap()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(int64(stats.Sys - stats.HeapReleased + limit)))
	var peak atomic.Uint64
	var ended atomic.Bool
	afterEachCollection(func() bool {
		peak.Store(max(peak.Load(), liveHeap()))
		return !ended.Load()
	})
	do()
	ended.Store(true)
	return max(peak.Load(), liveHeap(), before) - before
}

// afterEachCollection calls do after each garbage collection until it returns false.
func afterEachCollection(do func() bool) {
	type collected [64]byte
	var finalize func(c *collected)
	finalize = func(c *collected) {
		if do() {
			runtime.SetFinalizer(c, finalize)
		}
	}
	runtime.SetFinalizer(&collected{}, finalize)
}

// liveHeap returns what the last collection has found to be in use.
func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
