package crds

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"

	"k8s.io/client-go/tools/cache"
)

// newTestTable returns a table that only the test changes.
func newTestTable() *Table {
	return NewTable(cache.NewSharedIndexInformer(&source{}, &Record{}, 0, cache.Indexers{}))
}

func testRecord(name, group string, revision int64) *Record {
	r := &Record{Revision: revision, Group: group, SpecHash: "1"}
	r.Name = name + "." + group
	r.UID = "uid"
	r.digest = digestOf(r)
	return r
}

func names(records iter.Seq[*Record]) []string {
	var out []string
	for r := range records {
		out = append(out, r.Name)
	}
	return out
}

func TestTableIndexes(t *testing.T) {
	t.Parallel()
	table := newTestTable()
	var changes []string
	table.OnChange(func(old, record *Record) {
		kind := "changed"
		switch {
		case old == nil:
			kind = "added"
		case record == nil:
			kind, record = "deleted", old
		}
		if _, shown := table.Get(record.Name); shown == (kind == "deleted") {
			t.Errorf("%s %s: the function was called before the record is in the table", kind, record.Name)
		}
		changes = append(changes, kind+" "+record.Name)
	})
	empty := table.Revision()
	table.show(testRecord("b", "x", 1))
	one := table.GroupRevision("x")
	table.show(testRecord("a", "x", 2))
	table.show(testRecord("c", "y", 3))
	if got := table.Groups(); !slices.Equal(got, []string{"x", "y"}) {
		t.Errorf("groups: %v", got)
	}
	if got := names(table.Group("x")); !slices.Equal(got, []string{"a.x", "b.x"}) {
		t.Errorf("group x: %v", got)
	}
	two, other := table.GroupRevision("x"), table.GroupRevision("y")
	established := testRecord("a", "x", 4)
	established.Established = true
	established.digest = digestOf(established)
	table.show(established)
	if table.GroupRevision("x") == two || table.GroupRevision("y") != other {
		t.Error("a change must show in the revision of its group, and only there")
	}
	table.drop(newTombstone("a.x", 5))
	if got := table.GroupRevision("x"); got != one {
		t.Errorf("revision of x: %s, want that of before, %s", got, one)
	}
	table.drop(newTombstone("b.x", 6))
	table.drop(cache.DeletedFinalStateUnknown{Key: "c.y"})
	if got := table.Groups(); len(got) != 0 || table.GroupRevision("x") != "" || table.Revision() != empty {
		t.Errorf("after the deletions: groups %v, revision %s", got, table.Revision())
	}
	table.drop(newTombstone("c.y", 7))
	want := []string{"added b.x", "added a.x", "added c.y", "changed a.x", "deleted a.x", "deleted b.x", "deleted c.y"}
	if !slices.Equal(changes, want) {
		t.Errorf("changes: %v", changes)
	}
}

func TestWaitFor(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		revision int64
		change   func(*Table)
		shown    bool
	}{
		"the write":                   {5, func(t *Table) { t.show(testRecord("a", "x", 5)) }, true},
		"an older state":              {5, func(t *Table) { t.show(testRecord("a", "x", 4)) }, false},
		"a later write of another":    {5, func(t *Table) { t.show(testRecord("b", "x", 6)) }, true},
		"the deletion":                {5, func(t *Table) { t.drop(newTombstone("a.x", 5)) }, true},
		"progress":                    {5, func(t *Table) { t.drop(newProgress(5)) }, true},
		"the end of a list":           {5, func(t *Table) { r := newProgress(5); r.listed = true; t.drop(r) }, true},
		"the end of an older list":    {5, func(t *Table) { r := newProgress(4); r.listed = true; t.drop(r) }, false},
		"a deletion of no known time": {5, func(t *Table) { t.drop(cache.DeletedFinalStateUnknown{Key: "a.x"}) }, false},
		"another of a list": {5, func(t *Table) { r := testRecord("b", "x", 6); r.listed = true; t.show(r) },
			false},
		"the write, of a list": {5, func(t *Table) { r := testRecord("a", "x", 6); r.listed = true; t.show(r) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			table := newTestTable()
			table.show(testRecord("a", "x", 3))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := make(chan error, 1)
			w := &waiter{name: "a.x", revision: tc.revision, done: make(chan struct{})}
			if table.waiting.add(w, func() bool { return false }) {
				t.Fatal("WaitFor returned before the change")
			}
			tc.change(table)
			select {
			case <-w.done:
				if !tc.shown {
					t.Error("woken too early")
				}
			default:
				if tc.shown {
					t.Error("not woken")
				}
			}
			if !tc.shown {
				cancel()
			}
			done <- table.WaitFor(ctx, "a.x", tc.revision)
			if err := <-done; (err == nil) != tc.shown {
				t.Errorf("after the change: %v", err)
			}
		})
	}
}

// TestWaitForReturnsAfterOnChange checks that WaitFor returns after the OnChange functions.
func TestWaitForReturnsAfterOnChange(t *testing.T) {
	t.Parallel()
	table := newTestTable()
	inside, finish := make(chan struct{}), make(chan struct{})
	table.OnChange(func(_, _ *Record) { close(inside); <-finish })
	go table.show(testRecord("a", "x", 5))
	<-inside
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := table.WaitFor(ctx, "a.x", 5); err == nil {
		t.Error("WaitFor returned before the OnChange functions")
	}
	close(finish)
	if err := table.WaitFor(t.Context(), "a.x", 5); err != nil {
		t.Error(err)
	}
}

func TestConcurrentReadsOfTable(t *testing.T) {
	t.Parallel()
	table := newTestTable()
	var readers sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				for _, group := range table.Groups() {
					if records := names(table.Group(group)); !slices.IsSorted(records) {
						t.Errorf("not sorted: %v", records)
					}
				}
				for record := range table.All() {
					_, _ = table.Get(record.Name)
				}
				_ = table.Revision()
			}
		})
	}
	for n := range int64(500) {
		table.show(testRecord(fmt.Sprintf("n%d", n%17), fmt.Sprintf("g%d", n%3), 2*n+1))
		if n%5 == 0 {
			table.drop(newTombstone(fmt.Sprintf("n%d.g%d", n%17, n%3), 2*n+2))
		}
		if err := table.WaitFor(t.Context(), "whatever", 2*n+1); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	readers.Wait()
}
