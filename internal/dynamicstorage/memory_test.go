package dynamicstorage

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"
)

// TestJanitor checks that unused memory is freed in time, and not before.
func TestJanitor(t *testing.T) {
	t.Parallel()
	clock := testclock.NewFakeClock(time.Now())
	s, err := New(Options{Client: shared.client, Prefix: shared.Prefix(t), Clock: clock, IdleFor: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); s.runJanitor() }()
	feed := make(chan struct{})
	go func() { defer close(feed); s.feed.run(ctx) }()
	defer func() { cancel(); s.close(); <-done; <-feed; s.running.Wait() }()

	idle, watched := s.Resource("g", "idle"), s.Resource("g", "watched")
	put(t, idle, "x", "1")
	e := entries(t, deadline(t), snapshot(t, idle, ReadAt{Mode: Any}), "", "")[0]
	viewer := NewViewer(func(context.Context, []*Entry) ([]*View, error) { return []*View{{}}, nil })
	if _, err := viewer.View(deadline(t), e); err != nil {
		t.Fatal(err)
	}
	if objects, bytes := s.Size("g/idle"); objects != 1 || bytes <= 0 {
		t.Errorf("one object counts as %d of %d bytes", objects, bytes)
	}
	viewer.Close()
	w := watch(t, watched, snapshot(t, watched, ReadAt{Mode: Any}).Revision)
	step := func(d time.Duration, until func() bool) {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); !until(); time.Sleep(time.Millisecond) {
			clock.Step(d)
			if time.Now().After(deadline) {
				t.Fatal("memory is not freed")
			}
		}
	}
	step(janitorInterval, func() bool { return e.views.Load() == nil })
	step(janitorInterval, func() bool {
		idle.mu.RLock()
		defer idle.mu.RUnlock()
		return idle.cache == nil
	})
	if objects, bytes := s.Size("g/idle"); objects != -1 || bytes != -1 {
		t.Errorf("a cold resource has %d objects of %d bytes", objects, bytes)
	}
	if objects, bytes := s.Size("g/unknown"); objects != 0 || bytes != 0 {
		t.Errorf("an unknown resource has %d objects of %d bytes", objects, bytes)
	}
	if stats := s.Stats(); len(stats.Resources) != 1 || stats.Resources[0].Resource != "g/watched" ||
		stats.Resources[0].Watchers != 1 {
		t.Errorf("%+v", stats)
	}
	put(t, watched, "x", "1")
	next(t, w, 1)
}

func TestCompaction(t *testing.T) {
	t.Parallel()
	e := ownEtcd(t)
	s := run(t, Options{Client: e.client, Prefix: "/x"})
	r := s.Resource("g", "p")
	first, second := &compactor{client: e.client, done: &s.compactions},
		&compactor{client: e.client, done: &s.compactions}
	compacted := func(revision int64) bool {
		_, _, err := r.getStored(deadline(t), "x", revision)
		return errors.Is(err, ErrCompacted)
	}
	old := put(t, r, "x", "0").Revision
	for i := range 6 { // one of two replicas compacts, up to the revision of the last tick
		kept := put(t, r, "x", fmt.Sprint(i)).Revision
		for _, c := range []*compactor{first, second} {
			if err := c.tick(deadline(t)); err != nil {
				t.Fatal(err)
			}
		}
		if i >= 2 && !compacted(old) || compacted(kept) {
			t.Errorf("tick %d: compacted up to %d: %v, up to %d: %v", i, old, compacted(old), kept, compacted(kept))
		}
		if i >= 2 {
			old = kept - 4
		}
	}
	if n := s.Stats().Compactions; n < 4 || n > 6 {
		t.Errorf("%d compactions in 6 ticks of two replicas", n)
	}
}

// TestExactReadsFromMemory checks that recent states are computed from the cache and the ring, and are the same as in
// etcd.
func TestExactReadsFromMemory(t *testing.T) {
	t.Parallel()
	s := run(t, Options{Client: shared.client, Prefix: shared.Prefix(t), RingEvents: 20})
	r := s.Resource("g", "p")
	snapshot(t, r, ReadAt{})
	var revisions []int64
	for i := range 60 {
		key := fmt.Sprintf("n%d/%d", i%2, i%7)
		if revisions = append(revisions, put(t, r, key, fmt.Sprint(i)).Revision); i%4 == 0 {
			revisions = append(revisions, remove(t, r, key).Revision)
		}
	}
	now := snapshot(t, r, ReadAt{}).Revision
	for i, revision := range append(revisions, now) {
		got := snapshot(t, r, ReadAt{Mode: Exact, Revision: revision})
		want := &Snapshot{Revision: revision, resource: r}
		compareSnapshots(t, deadline(t), got, want)
		for _, prefix := range []string{"", "n0/", "n1/"} {
			g, err := got.Count(deadline(t), prefix, "n0/3")
			w, errStored := want.Count(deadline(t), prefix, "n0/3")
			if err != nil || errStored != nil || g != w {
				t.Errorf("at %d: %d entries with %q, etcd has %d: %v, %v", revision, g, prefix, w, err, errStored)
			}
		}
		if i >= len(revisions)-20 && got.entries == nil || i < 30 && got.entries != nil {
			t.Errorf("at %d, %d of %d: in memory %v", revision, i, len(revisions), got.entries != nil)
		}
	}
}
