package server

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// By how much the heap may grow before garbage is collected. A collection costs what it has to scan, and that is little of a
// heap that is mostly the JSON of objects: it may come soon. Growth by as much as is scanned, and a little more, makes
// collecting cost the same by allocated byte whatever is stored. With 10,000 objects, 9 MB of 35 MB are scanned.
const (
	// leastGrowth is for small heaps.
	leastGrowth = 16 << 20
	// scanPercent is growth by what is scanned.
	scanPercent = 160
	// mostPercent bounds the growth of heaps in which everything is scanned. Go's own 100 would hold more memory than is worth it.
	mostPercent = 60
)

// tuneGC has the heap grow by mostPercent until more is known about it, unless whoever started the process has decided about it.
func tuneGC() {
	if !decidedGC() {
		debug.SetGCPercent(mostPercent)
	}
}

// decidedGC says that whoever started the process has decided about collecting.
func decidedGC() bool { return os.Getenv("GOGC") != "" }

// followHeap sets when the next collection is due, after each one and when another allowance is in force, until ctx is done.
func followHeap(ctx context.Context, b *burst) {
	if decidedGC() {
		return
	}
	last := mostPercent
	afterCollections(ctx, b.poke)
	for {
		select {
		case <-b.poked:
		case <-ctx.Done():
			return
		}
		percent := collected().percent(b.allowance())
		if difference := percent - last; difference < -2 || difference > 2 { // setting it stops the world
			debug.SetGCPercent(percent)
			last = percent
		}
	}
}

// afterCollections calls f soon after each collection of garbage, until ctx is done.
func afterCollections(ctx context.Context, f func()) {
	garbage := &struct{ *int }{}
	runtime.AddCleanup(garbage, func(struct{}) {
		if ctx.Err() == nil {
			f()
			afterCollections(ctx, f)
		}
	}, struct{}{})
}

// heap is what the last collection has found, in bytes.
type heap struct {
	live    uint64
	scanned uint64 // of live
	roots   uint64 // of scans: stacks and variables
}

func collected() heap {
	samples := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/heap:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"},
	}
	metrics.Read(samples)
	value := func(n int) uint64 { return samples[n].Value.Uint64() }
	return heap{live: value(0), scanned: value(1), roots: value(2) + value(3)}
}

// percent returns the growth of the heap as Go understands it, in percent of what is live and the roots; allowance are bytes it may
// grow by besides.
func (h heap) percent(allowance uint64) int {
	whole := h.live + h.roots
	if whole == 0 {
		return mostPercent
	}
	growth := max(leastGrowth, min((h.scanned+h.roots)*scanPercent/100, whole*mostPercent/100))
	return int(max((growth+allowance)*100/whole, 1))
}
