package dynamicstorage

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/crd-server/crd-server/internal/etcdtest"
)

// journal is an observer that records the calls. A waiter waits for a call of which what is true.
type journal struct {
	called chan struct{} // has an element after a call

	mu    sync.Mutex // guards calls
	calls []string
}

func newJournal() *journal { return &journal{called: make(chan struct{}, 1)} }

func (j *journal) add(call string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.calls = append(j.calls, call)
	select {
	case j.called <- struct{}{}:
	default:
	}
}

// Reset implements Observer.
func (j *journal) Reset() { j.add("reset") }

// Scanned implements Observer.
func (j *journal) Scanned(int64) { j.add("scanned") }

// Observe implements Observer.
func (j *journal) Observe(o Observation) {
	switch {
	case o.Err != nil:
		j.add(o.Key + " unreadable")
	case o.Deleted:
		j.add(o.Key + " deleted")
	default:
		j.add(o.Key + "=" + string(o.Value))
	}
}

// until waits for a call, and returns the calls up to it. They are removed.
func (j *journal) until(t *testing.T, last string) []string {
	t.Helper()
	for ctx := deadline(t); ; {
		j.mu.Lock()
		if n := slices.Index(j.calls, last); n >= 0 {
			calls := slices.Clone(j.calls[:n+1])
			j.calls = j.calls[n+1:]
			j.mu.Unlock()
			return calls
		}
		j.mu.Unlock()
		select {
		case <-j.called:
		case <-ctx.Done():
			t.Fatalf("no %q: %q", last, j.calls)
		}
	}
}

func observe(t *testing.T, s *Store) *journal {
	t.Helper()
	j := newJournal()
	etcdtest.Run(t, func(ctx context.Context) error { s.Observe(ctx, j); return nil })
	return j
}

func wantCalls(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestObserve(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	warm, cold := s.Resource("example.com", "warm"), s.Resource("example.com", "cold")
	put(t, warm, "a/x", "1")
	snapshot(t, warm, ReadAt{})
	put(t, cold, "y", "2")
	if _, err := shared.client.Put(deadline(t), s.prefix+"/secrets/a/z", "3"); err != nil {
		t.Fatal(err)
	}
	j := observe(t, s)
	wantCalls(t, j.until(t, "scanned"), "reset", "example.com/cold/y=2", "example.com/warm/a/x=1", "secrets/a/z=3",
		"scanned")
	put(t, warm, "a/x", "4")
	remove(t, cold, "y")
	put(t, cold, "y", "5")
	if _, err := shared.client.Delete(deadline(t), s.prefix+"/secrets/a/z"); err != nil {
		t.Fatal(err)
	}
	wantCalls(t, j.until(t, "secrets/a/z deleted"),
		"example.com/warm/a/x=4", "example.com/cold/y deleted", "example.com/cold/y=5", "secrets/a/z deleted")
	if cold.cache != nil || cold.load != nil {
		t.Error("the scan has loaded a resource")
	}
}

// TestObserveFolders checks that an observer of some folders learns only their keys, all as of one revision.
func TestObserveFolders(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	roles, bindings, others := s.ResourceAt("roles"), s.ResourceAt("rolebindings"), s.ResourceAt("rolesandmore")
	put(t, roles, "a/x", "1")
	put(t, bindings, "a/y", "1")
	put(t, others, "z", "1")
	j := newJournal()
	etcdtest.Run(t, func(ctx context.Context) error { s.Observe(ctx, j, "roles", "rolebindings"); return nil })
	wantCalls(t, j.until(t, "scanned"), "reset", "roles/a/x=1", "rolebindings/a/y=1", "scanned")
	put(t, others, "z", "2")
	remove(t, roles, "a/x")
	put(t, bindings, "a/y", "2")
	wantCalls(t, j.until(t, "rolebindings/a/y=2"), "roles/a/x deleted", "rolebindings/a/y=2")
}

// TestAfterWrites checks that a write calls the function with its revision before it returns.
func TestAfterWrites(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	r := s.Resource("example.com", "widgets")
	var revisions []int64
	r.AfterWrites(func(_ context.Context, revision int64) { revisions = append(revisions, revision) })
	first, second := put(t, r, "x", "1").Revision, put(t, r, "x", "2").Revision
	remove(t, r, "x")
	put(t, s.Resource("example.com", "others"), "x", "1")
	creation := Creation{Resource: r, Key: "x", Value: func() ([]byte, error) { return []byte("1"), nil }}
	if err := s.CreateMissing(deadline(t), []Creation{creation}); err != nil {
		t.Fatal(err)
	}
	if len(revisions) != 4 || revisions[0] != first || revisions[1] != second || revisions[2] <= second ||
		revisions[3] <= revisions[2] {
		t.Errorf("%d, after writes at %d and %d", revisions, first, second)
	}
}

// TestObserveTransactions checks that an observer knows which changes belong together.
func TestObserveTransactions(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	j := newJournal()
	last := &lastOfRevision{journal: j}
	etcdtest.Run(t, func(ctx context.Context) error { s.Observe(ctx, last, "roles"); return nil })
	j.until(t, "scanned")
	var creations []Creation
	for _, key := range []string{"a", "b", "c"} {
		creations = append(creations, Creation{
			Resource: s.ResourceAt("roles"), Key: key, Value: func() ([]byte, error) { return []byte("1"), nil },
		})
	}
	if err := s.CreateMissing(deadline(t), creations); err != nil {
		t.Fatal(err)
	}
	put(t, s.ResourceAt("roles"), "a", "2")
	wantCalls(t, j.until(t, "roles/a=2"), "roles/c=1", "roles/a=2")
}

// lastOfRevision is an observer of the last change of each transaction.
type lastOfRevision struct{ *journal }

func (l *lastOfRevision) Observe(o Observation) {
	if !o.More {
		l.journal.Observe(o)
	}
}

// TestObserveScan checks that events during a scan of many pages are neither lost nor repeated.
func TestObserveScan(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	r := s.Resource("example.com", "many")
	const keys = 3 * firstPage
	for n := range keys {
		put(t, r, fmt.Sprint("before", n), "x")
	}
	j := observe(t, s)
	for n := range 50 {
		put(t, r, fmt.Sprint("meanwhile", n), "x")
	}
	put(t, r, "last", "x")
	seen := map[string]int{}
	for _, call := range j.until(t, "example.com/many/last=x") {
		seen[call]++
	}
	if len(seen) != keys+50+3 {
		t.Errorf("%d calls", len(seen))
	}
	for call, times := range seen {
		if times != 1 {
			t.Errorf("%s: %d times", call, times)
		}
	}
}

// TestObserveLostEvents checks that an observer starts over when it has fallen behind, and when etcd was restored.
func TestObserveLostEvents(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	r := s.Resource("example.com", "widgets")
	put(t, r, "x", "1")
	j := observe(t, s)
	j.until(t, "scanned")
	s.feed.observing()[0].lose()
	wantCalls(t, j.until(t, "scanned"), "reset", "example.com/widgets/x=1", "scanned")
	if err := s.feed.startOver(deadline(t), errOtherHistory); err == nil {
		t.Fatal("no error")
	}
	wantCalls(t, j.until(t, "scanned"), "reset", "example.com/widgets/x=1", "scanned")
	put(t, r, "x", "2")
	wantCalls(t, j.until(t, "example.com/widgets/x=2"), "example.com/widgets/x=2")
}

func TestObserveUnreadable(t *testing.T) {
	t.Parallel()
	s := run(t, Options{Client: shared.client, Prefix: shared.Prefix(t), Transform: marked{}})
	put(t, s.Resource("example.com", "widgets"), "x", "abc")
	if _, err := shared.client.Put(deadline(t), s.prefix+"/example.com/widgets/y", "plain"); err != nil {
		t.Fatal(err)
	}
	j := observe(t, s)
	wantCalls(t, j.until(t, "scanned"), "reset", "example.com/widgets/x=abc", "example.com/widgets/y unreadable",
		"scanned")
}

func TestReadByKey(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	r := s.Resource("example.com", "widgets")
	e := put(t, r, "a/x", "1")
	if o, err := s.Read(deadline(t), "example.com/widgets/a/x"); err != nil || string(o.Value) != "1" ||
		o.Revision != e.Revision || o.Deleted {
		t.Errorf("%+v, %v", o, err)
	}
	if o, err := s.Read(deadline(t), "example.com/widgets/a/y"); err != nil || !o.Deleted || o.Revision < e.Revision {
		t.Errorf("%+v, %v", o, err)
	}
	if r.cache != nil || r.load != nil {
		t.Error("the read has loaded the resource")
	}
}
