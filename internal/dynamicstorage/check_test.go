package dynamicstorage

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"
)

// tamper changes an entry of the cache; nil deletes it.
func tamper(r *Resource, key string, e *Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	changed := r.cache.changed
	r.cache.apply(key, e, math.MaxInt64)
	r.cache.changed = changed
}

func TestCheck(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	r := s.Resource("g", "p")
	if _, err := r.Check(deadline(t), nil); !errors.Is(err, ErrNotLoaded) {
		t.Errorf("a cold resource: %v", err)
	}
	for i := range 5 {
		put(t, r, fmt.Sprint("n/", i), "value")
	}
	snapshot(t, r, ReadAt{})
	want := slices.Clone(entries(t, deadline(t), snapshot(t, r, ReadAt{}), "", ""))
	other := want[1].at(want[1].Revision)
	other.Value = []byte("other")
	for _, test := range []struct {
		name   string
		change map[string]*Entry
		want   int
	}{
		{"nothing", nil, 0},
		{"another value", map[string]*Entry{"n/1": other}, 1},
		{"another revision", map[string]*Entry{"n/2": want[2].at(want[2].Revision - 1)}, 1},
		{"one too many", map[string]*Entry{"n/11": {Key: "n/11"}}, 1},
		{"one too many at the end", map[string]*Entry{"z": {Key: "z"}}, 1},
		{"two are missing", map[string]*Entry{"n/0": nil, "n/4": nil}, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			for key, e := range test.change {
				tamper(r, key, e)
			}
			checked, err := r.Check(deadline(t), nil)
			if err != nil || len(checked.Differences) != test.want || checked.Entries != 5 {
				t.Errorf("%+v, %v; want %d differences", checked, err, test.want)
			}
			if err := checked.Err(); (test.want > 0) != errors.Is(err, ErrInconsistent) {
				t.Error(err)
			}
			r.Release()
			snapshot(t, r, ReadAt{})
		})
	}
	if stats := s.Stats().Resources[0]; stats.Consistent != 1 || stats.Different != 5 || stats.Loads != 7 {
		t.Errorf("%+v", stats)
	}
}

// TestCheckOfCompactedRevision checks that a compaction during a check is not reported as a difference.
func TestCheckOfCompactedRevision(t *testing.T) {
	t.Parallel()
	e := ownEtcd(t)
	s := run(t, Options{Client: e.client, Prefix: "/x"})
	r := s.Resource("g", "p")
	for i := range firstPage + 1 {
		put(t, r, fmt.Sprint(i), "1")
	}
	snapshot(t, r, ReadAt{})
	var compacted int64
	_, err := r.Check(deadline(t), func(ctx context.Context) error {
		compacted = put(t, r, "x", "2").Revision
		_, err := e.client.Compact(ctx, compacted)
		return err
	})
	if !errors.Is(err, ErrCompacted) {
		t.Error(err)
	}
	if err := s.WaitForRevision(deadline(t), compacted); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Check(deadline(t), func(context.Context) error { return errWatchEnded }); !errors.Is(err,
		errWatchEnded) {
		t.Errorf("a check that was stopped: %v", err)
	}
	if stats := s.Stats().Resources[0]; stats.Unchecked != 2 {
		t.Errorf("%+v", stats)
	}
}

// TestCheckEvery checks that resources are checked periodically, except cold ones.
func TestCheckEvery(t *testing.T) {
	clock := testclock.NewFakeClock(time.Now())
	s := run(t, Options{Client: shared.client, Prefix: shared.Prefix(t), Clock: clock, IdleFor: -1})
	r := s.Resource("g", "p")
	s.Resource("g", "cold")
	ctx, cancel := context.WithCancel(deadline(t))
	ended := make(chan struct{})
	go func() { defer close(ended); s.CheckEvery(ctx, time.Hour) }()
	put(t, r, "x", "1")
	snapshot(t, r, ReadAt{})
	for s.Stats().Resources[0].Consistent < 2 {
		clock.Step(time.Hour) // has no effect until the goroutine waits
		if ctx.Err() != nil {
			t.Fatal("nothing was compared")
		}
	}
	cancel()
	<-ended
	if stats := s.Stats(); len(stats.Resources) != 1 || stats.Resources[0].Different != 0 {
		t.Errorf("%+v", stats)
	}
}

// TestCheckViews checks that a view which a write attaches is compared with the one that a read makes, right after the
// write and by Check, which leaves out views that no write has attached.
func TestCheckViews(t *testing.T) {
	t.Parallel()
	s := run(t, Options{Client: shared.client, Prefix: shared.Prefix(t), CheckViews: true})
	r := s.Resource("g", "p")
	snapshot(t, r, ReadAt{})
	right := View{Bytes: []byte(`{"metadata":{}}`), At: 13, Labels: PairsOf(map[string]string{"a": "b"}),
		Fields: PairsOf(map[string]string{"c": "d"})}
	viewer := NewViewer(func(_ context.Context, entries []*Entry) ([]*View, error) {
		if string(entries[0].Value) == "unknown" {
			return nil, errors.New("no webhook")
		}
		made := right
		return []*View{&made}, nil
	})
	for n, test := range []struct {
		value  string
		change func(v *View)
		want   string
	}{
		{"right", func(*View) {}, ""},
		{"unknown", func(v *View) { v.At = 1 }, ""},
		{"bytes", func(v *View) { v.Bytes = []byte(`{"metadata":{"name":"x"}}`) }, "at byte 13"},
		{"offset", func(v *View) { v.At = 1 }, "at 1 instead of 13"},
		{"labels", func(v *View) { v.Labels = Pairs{} }, "labels"},
		{"fields", func(v *View) { v.Fields = Pairs{} }, "fields"},
		{"error", func(v *View) { v.Err = ErrNotFound }, "error"},
	} {
		written := right
		test.change(&written)
		change := Change{Op: Put, Value: []byte(test.value), Attach: func(e *Entry) { viewer.Attach(e, &written) }}
		before := r.counts.different.Load()
		mutate := func(context.Context, *Entry) (Change, error) { return change, nil }
		if _, err := r.Update(deadline(t), fmt.Sprint(n), mutate, UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		if found := r.counts.different.Load() > before; found != (test.want != "") {
			t.Errorf("%s: a difference was found: %t", test.value, found)
		}
	}
	snapshot(t, r, ReadAt{})
	checked, err := r.Check(deadline(t), nil)
	if err != nil || len(checked.Differences) != 5 {
		t.Fatalf("%+v, %v", checked, err)
	}
	for n, want := range []string{"at byte 13", "at 1 instead of 13", "labels", "fields", "error"} {
		if !strings.Contains(checked.Differences[n], want) {
			t.Errorf("%s does not contain %q", checked.Differences[n], want)
		}
	}
	r.Release() // the end of the test compares again
}
