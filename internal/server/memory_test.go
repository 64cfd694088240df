package server

import (
	"context"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestHeapGrowth(t *testing.T) {
	const mb = 1 << 20
	for name, tc := range map[string]struct {
		heap      heap
		allowance uint64
		want      int // percent
	}{
		"nothing known":          {heap{}, 0, 60},
		"small":                  {heap{live: 9 * mb, scanned: 5 * mb, roots: mb}, 0, 160},
		"JSON of 10,000 objects": {heap{live: 34 * mb, scanned: 9 * mb, roots: mb}, 0, 45},
		"of ten times as many":   {heap{live: 299 * mb, scanned: 79 * mb, roots: mb}, 0, 42},
		"all of it scanned":      {heap{live: 199 * mb, scanned: 199 * mb, roots: mb}, 0, 60},
		"small, in a burst":      {heap{live: 9 * mb, scanned: 5 * mb, roots: mb}, 32 * mb, 480},
		"none of it":             {heap{live: 1 << 40}, 0, 1},
	} {
		if got := tc.heap.percent(tc.allowance); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}

func TestHeapIsFollowed(t *testing.T) {
	t.Setenv("GOGC", "")
	defer debug.SetGCPercent(debug.SetGCPercent(mostPercent))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go followHeap(ctx, newBurst(0)) // ends with ctx
	kept := make([]byte, 100<<20)
	for current := mostPercent; current == mostPercent; { // a heap of which nothing is scanned grows by less
		if t.Context().Err() != nil {
			t.Fatal("the growth stays the same")
		}
		runtime.GC()
		current = debug.SetGCPercent(mostPercent)
	}
	runtime.KeepAlive(kept)
	if h := collected(); h.live < 100<<20 || h.scanned > h.live || h.roots == 0 {
		t.Errorf("%+v", h)
	}
}

// TestFollowingEnds: nothing is called any more once the context has ended.
func TestFollowingEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	calls := make(chan struct{}, 100)
	afterCollections(ctx, func() { calls <- struct{}{} })
	for len(calls) < 2 {
		runtime.GC()
	}
	cancel()
	runtime.GC()
	for len(calls) > 0 {
		<-calls
	}
	runtime.GC()
	if len(calls) > 1 { // one that had begun
		t.Errorf("%d calls", len(calls))
	}
}

// TestHeapShrinks: when the work is over, what it has left behind is given back, once.
func TestHeapShrinks(t *testing.T) {
	r := releaser{burst: newBurst(0)}
	r.turn() // there has been work
	garbage := make([]byte, 64<<20)
	clear(garbage)
	for deadline := time.Now().Add(time.Minute); !r.shrunk; r.turn() {
		if time.Now().After(deadline) {
			t.Fatal("nothing is given back")
		}
	}
	if seen := observe(); seen.spare >= 64<<20 {
		t.Errorf("%+v", seen)
	}
}

// TestBurstIsNotCutShort: what a burst has made is not taken for what work has left behind while it lasts.
func TestBurstIsNotCutShort(t *testing.T) {
	r := releaser{burst: newBurst(0)}
	r.burst.announce(mostAllowance)
	garbage := make([]byte, 64<<20)
	clear(garbage)
	for range 10 { // collections of another work end
		if r.turn(); r.shrunk {
			t.Fatal("garbage is collected during the burst")
		}
	}
	r.burst.end()
	for deadline := time.Now().Add(time.Minute); observe().spare >= 64<<20; r.turn() {
		if time.Now().After(deadline) {
			t.Fatal("what the burst has left is not given back")
		}
	}
}

// TestProgramIsKeptForWhoWaits: pages of the program are not given back while somebody waits.
func TestProgramIsKeptForWhoWaits(t *testing.T) {
	r := releaser{burst: newBurst(0), faults: -enoughFaults}
	r.burst.announceWaited(1)
	if r.turn(); r.faults != -enoughFaults {
		t.Error("they are given back")
	}
	r.burst.end()
	if r.turn(); r.faults == -enoughFaults {
		t.Error("they are kept")
	}
}
