package crds

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

func testRecord(name, group string, revision int64) *Record {
	r := &Record{Revision: revision, Group: group, SpecHash: "1"}
	r.Name = name + "." + group
	r.UID = "uid"
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
	table := NewTable(nil)
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
	table.show(testRecord("b", "x", 1))
	table.show(testRecord("a", "x", 2))
	table.show(testRecord("c", "y", 3))
	if got := table.Groups(); !slices.Equal(got, []string{"x", "y"}) {
		t.Errorf("groups: %v", got)
	}
	if got := names(table.Group("x")); !slices.Equal(got, []string{"a.x", "b.x"}) {
		t.Errorf("group x: %v", got)
	}
	established := testRecord("a", "x", 4)
	established.Established = true
	table.show(established)
	table.drop("a.x")
	table.drop("b.x")
	table.replace(nil)
	if got := table.Groups(); len(got) != 0 {
		t.Errorf("after the deletions: groups %v", got)
	}
	table.drop("c.y")
	want := []string{"added b.x", "added a.x", "added c.y", "changed a.x", "deleted a.x", "deleted b.x", "deleted c.y"}
	if !slices.Equal(changes, want) {
		t.Errorf("changes: %v", changes)
	}
}

func TestWaitFor(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		revision int64
		shown    bool
	}{
		"the write":                  {5, true},
		"an older state":             {4, false},
		"a later write of another":   {6, true},
		"a restored etcd, not known": {0, false},
	} {
		t.Run(name, func(t *testing.T) {
			table := NewTable(nil)
			table.reached.move(3)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := make(chan error, 1)
			go func() { done <- table.WaitFor(ctx, "a.x", 5) }()
			table.reached.move(tc.revision)
			if !tc.shown {
				cancel()
			}
			if err := <-done; (err == nil) != tc.shown {
				t.Errorf("after the change: %v", err)
			}
		})
	}
}

// TestWaitForReturnsAfterOnChange checks that WaitFor returns after the OnChange functions.
func TestWaitForReturnsAfterOnChange(t *testing.T) {
	t.Parallel()
	table := NewTable(nil)
	inside, finish := make(chan struct{}), make(chan struct{})
	table.OnChange(func(_, _ *Record) { close(inside); <-finish })
	event := &dynamicstorage.Event{Revision: 5, Entry: entryOf("widgets.example.com", 5, widget(t, "widgets"))}
	go table.change(t.Context(), event)
	<-inside
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := table.WaitFor(ctx, "widgets.example.com", 5); err == nil {
		t.Error("WaitFor returned before the OnChange functions")
	}
	close(finish)
	if err := table.WaitFor(t.Context(), "widgets.example.com", 5); err != nil {
		t.Error(err)
	}
}

func TestConcurrentReadsOfTable(t *testing.T) {
	t.Parallel()
	table := NewTable(nil)
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
			}
		})
	}
	for n := range int64(500) {
		table.show(testRecord(fmt.Sprintf("n%d", n%17), fmt.Sprintf("g%d", n%3), 2*n+1))
		if n%5 == 0 {
			table.drop(fmt.Sprintf("n%d.g%d", n%17, n%3))
		}
		table.reached.move(2*n + 1)
		if err := table.WaitFor(t.Context(), "whatever", 2*n+1); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	readers.Wait()
}
