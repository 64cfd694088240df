package dynamicstorage

import (
	"errors"
	"fmt"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"
)

// TestCompactedRevision checks that states that etcd has compacted are not read from memory either, on any replica and
// whatever has compacted etcd, and that watchers still get the events that memory has.
func TestCompactedRevision(t *testing.T) {
	t.Parallel()
	e, clock := ownEtcd(t), testclock.NewFakeClock(time.Now())
	s := run(t, Options{Client: e.client, Prefix: "/x", Clock: clock, IdleFor: -1})
	r := s.Resource("g", "p")
	snapshot(t, r, ReadAt{})
	var revisions []int64
	for i := range 10 {
		revisions = append(revisions, put(t, r, "x", fmt.Sprint(i)).Revision)
	}
	outside, err := e.client.Put(deadline(t), "/outside", "")
	if err != nil {
		t.Fatal(err)
	}
	now := outside.Header.Revision
	if err := s.UpdateCompactedRevision(deadline(t)); err != nil || s.CompactedRevision() != 0 {
		t.Errorf("%d is compacted at first: %v", s.CompactedRevision(), err)
	}
	for _, compacted := range []int64{revisions[4], revisions[7], now} {
		if _, err := e.client.Compact(deadline(t), compacted); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(20 * time.Second); s.CompactedRevision() != compacted; time.Sleep(time.Millisecond) {
			clock.Step(compactedInterval)
			if time.Now().After(end) {
				t.Fatalf("%d is compacted, the store knows of %d", compacted, s.CompactedRevision())
			}
		}
		for _, revision := range append(revisions, now) {
			at, gone := ReadAt{Mode: Exact, Revision: revision}, revision < compacted
			if _, err := r.Snapshot(deadline(t), at); errors.Is(err, ErrCompacted) != gone || err != nil && !gone {
				t.Errorf("list at %d, compacted %d: %v", revision, compacted, err)
			}
			if _, _, err := r.Get(deadline(t), "x", at); errors.Is(err, ErrCompacted) != gone || err != nil && !gone {
				t.Errorf("read at %d, compacted %d: %v", revision, compacted, err)
			}
		}
		next(t, watch(t, r, revisions[2]), 7)
		for _, mode := range []ReadMode{Consistent, Any, NotOlderThan} {
			snapshot(t, r, ReadAt{Mode: mode, Revision: revisions[0]})
		}
	}
}

// TestCompactAtFirstTick checks that a server compacts one interval after its start, up to the revision it began with.
func TestCompactAtFirstTick(t *testing.T) {
	t.Parallel()
	e := ownEtcd(t)
	s := run(t, Options{Client: e.client, Prefix: "/x"})
	r := s.Resource("g", "p")
	for range 3 { // as after a restart, of which the last server is not known
		began := put(t, r, "x", "0").Revision
		c := &compactor{client: e.client, done: &s.compactions}
		if err := c.begin(deadline(t)); err != nil {
			t.Fatal(err)
		}
		put(t, r, "x", "1")
		if err := c.tick(deadline(t)); err != nil {
			t.Fatal(err)
		}
		if err := s.UpdateCompactedRevision(deadline(t)); err != nil || s.CompactedRevision() != began {
			t.Errorf("%d is compacted instead of %d: %v", s.CompactedRevision(), began, err)
		}
	}
}
