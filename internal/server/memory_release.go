package server

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"k8s.io/klog/v2"
)

const (
	// releaseEvery is how often is looked after what can be given back.
	releaseEvery = 3 * time.Second
	// enoughFaults are page faults since pages of the program were given back, after which it is worth it again: each maps up
	// to 64 KiB of it.
	enoughFaults = 256
	// enoughFree is what the heap must have to spare to be made smaller.
	enoughFree = 8 << 20
)

// releaseMemory gives memory back that nobody needs, until ctx is done: first what only the start has needed, then
// what a burst of requests has left behind, and pages of the program's file, most of which are mapped only because they are beside one
// that was needed, or was once. Those that are needed again are mapped again, from the page cache: a thousandth of the time that has passed.
func releaseMemory(ctx context.Context, b *burst) {
	debug.FreeOSMemory()
	releasePages()
	r := releaser{burst: b, faults: minorFaults(), collections: observe().collections}
	ticker := time.NewTicker(releaseEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			r.turn()
		case <-ctx.Done():
			return
		}
	}
}

func releasePages() {
	if err := releaseProgram(); err != nil {
		klog.V(2).InfoS("Pages of the program could not be given back", "err", err)
	}
}

// releaser remembers what was given back.
type releaser struct {
	burst  *burst
	faults int64 // of the process, when the program's pages were given back
	// collections there had been at the last turn, and whether the heap was made smaller since the last.
	collections uint64
	shrunk      bool
}

func (r *releaser) turn() {
	// While somebody waits the heap grows, so that most faults are not the program's, and to map it again would take his time.
	if faults := minorFaults(); faults-r.faults >= enoughFaults && !r.burst.isWaitedFor() {
		releasePages()
		r.faults = minorFaults()
	}
	seen := observe()
	switch {
	case r.burst.allowance() > 0: // the heap is as large as it should be
	case r.burst.takeLeft(): // whatever work there is now
		debug.FreeOSMemory()
	case seen.collections != r.collections: // there is work
		r.collections, r.shrunk = seen.collections, false
	case !r.shrunk && seen.spare >= enoughFree:
		r.shrunk = true
		debug.FreeOSMemory()
	}
}

// usage is what is seen of the heap.
type usage struct {
	// collections that were not asked for.
	collections uint64
	// spare is about how many bytes the process would have less of after a collection, if all that is free was given back.
	spare uint64
}

func observe() usage {
	samples := []metrics.Sample{
		{Name: "/gc/cycles/automatic:gc-cycles"}, {Name: "/memory/classes/heap/free:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/live:bytes"},
	}
	metrics.Read(samples)
	value := func(n int) uint64 { return samples[n].Value.Uint64() }
	return usage{collections: value(0), spare: value(1) + value(2) - min(value(2), value(3))}
}
