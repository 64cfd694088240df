package dynamicstorage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

func describe(events []Event) string {
	var all []string
	for _, e := range events {
		text := fmt.Sprintf("%d:", e.Revision)
		if e.Prev != nil {
			text += fmt.Sprintf("%s@%d=%s", e.Prev.Key, e.Prev.Revision, e.Prev.Value)
		}
		text += ">"
		if e.Entry != nil {
			text += fmt.Sprintf("%s@%d=%s", e.Entry.Key, e.Entry.Revision, e.Entry.Value)
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

func TestWatch(t *testing.T) {
	t.Parallel()
	r := testStore(t).Resource("g", "p")
	start := snapshot(t, r, ReadAt{}).Revision
	w := watch(t, r, start)
	a := put(t, r, "x", "1").Revision
	b := put(t, r, "x", "2").Revision
	c := remove(t, r, "x").Revision
	d := put(t, r, "x", "3").Revision
	want := fmt.Sprintf("%d:>x@%d=1 %d:x@%d=1>x@%d=2 %d:x@%d=2> %d:>x@%d=3", a, a, b, a, b, c, b, d, d)
	if got := describe(next(t, w, 4)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if w.Revision() < d {
		t.Errorf("revision %d after %d", w.Revision(), d)
	}
	if got := describe(next(t, watch(t, r, b), 2)); got != strings.SplitN(want, " ", 3)[2] {
		t.Errorf("from %d: %s", b, got)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := w.Next(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	put(t, r, "x", "4")
	next(t, w, 1) // nothing was lost
	w.Close()
	w.Close()
	if _, err := w.Next(context.Background()); !errors.Is(err, ErrClosed) {
		t.Errorf("%v", err)
	}
}

func TestWatchFromTheFuture(t *testing.T) {
	t.Parallel()
	r := testStore(t).Resource("g", "p")
	start := put(t, r, "x", "0").Revision
	w := watch(t, r, start+2)
	if w.Revision() != start+2 {
		t.Errorf("revision %d", w.Revision())
	}
	for i := range 4 {
		put(t, r, "x", fmt.Sprint(i))
	}
	batch, err := w.Next(deadline(t))
	if err != nil || batch[0].Revision <= start+2 {
		t.Errorf("%v, %v", describe(batch), err)
	}
}

// TestWatcherRevision checks that the revision follows the feed without events, and never covers events that Next has
// not returned.
func TestWatcherRevision(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	r, other := s.Resource("g", "p"), s.Resource("g", "other")
	ctx := deadline(t)
	w := watch(t, r, snapshot(t, r, ReadAt{}).Revision)
	far := put(t, other, "x", "1").Revision
	if err := s.WaitForRevision(ctx, far); err != nil || w.Revision() < far {
		t.Errorf("revision %d, the feed is at %d: %v", w.Revision(), far, err)
	}
	var revisions []int64
	for range 3 {
		revisions = append(revisions, put(t, r, "x", "1").Revision)
	}
	if _, err := shared.client.Put(ctx, "/outside", "1"); err != nil {
		t.Fatal(err)
	}
	outside, err := s.CurrentRevision(ctx)
	if err != nil || s.WaitForRevision(ctx, outside) != nil {
		t.Fatal(err)
	}
	if got := w.Revision(); got >= revisions[0] {
		t.Errorf("revision %d, but event %d was not returned", got, revisions[0])
	}
	next(t, w, 3)
	if got := w.Revision(); got < outside {
		t.Errorf("revision %d, the feed is at %d", got, outside)
	}
}

// TestReplay checks that watchers of a new store, also with a small ring, get past events from etcd.
func TestReplay(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	r := s.Resource("g", "p")
	start := put(t, r, "x", "0").Revision
	for i := range 300 {
		put(t, r, fmt.Sprintf("n/%d", i%7), strings.Repeat("v", i))
		if i%10 == 0 {
			remove(t, r, fmt.Sprintf("n/%d", i%7))
		}
	}
	r.Release()
	want := ""
	for _, options := range []Options{{}, {RingEvents: 10}, {RingBytes: 1000}} {
		options.Client, options.Prefix = shared.client, s.prefix
		r := run(t, options).Resource("g", "p")
		var watchers sync.WaitGroup
		results := make([]string, 5)
		for i := range results {
			w := watch(t, r, start)
			watchers.Go(func() { results[i] = describe(next(t, w, 330)) })
		}
		watchers.Wait()
		if want == "" {
			want = results[0]
		}
		for _, got := range results {
			if got != want {
				t.Fatalf("ring %d, %d: got  %s\nwant %s", options.RingEvents, options.RingBytes, got, want)
			}
		}
	}
	if !strings.HasPrefix(want[strings.Index(want, ":"):], ":>n/0@") {
		t.Errorf("%s", want[:50])
	}
}

// TestSlowWatcher checks that a watcher that falls out of the ring delays no other watcher and misses no event.
func TestSlowWatcher(t *testing.T) {
	t.Parallel()
	s := run(t, Options{Client: shared.client, Prefix: shared.Prefix(t), RingEvents: 5})
	r := s.Resource("g", "p")
	start := snapshot(t, r, ReadAt{}).Revision
	slow, fast := watch(t, r, start), watch(t, r, start)
	var want []Event
	for i := range 100 {
		put(t, r, "x", fmt.Sprint(i))
		want = append(want, slices.Clone(next(t, fast, 1))...)
		if i == 50 {
			batch, err := slow.Next(deadline(t))
			if err != nil || describe(batch) != describe(want[:len(batch)]) {
				t.Fatalf("%s, %v", describe(batch), err)
			}
			want = want[len(batch):]
		}
	}
	if got := describe(next(t, slow, len(want))); got != describe(want) {
		t.Errorf("got  %s\nwant %s", got, describe(want))
	}
}

func TestCompactedWatch(t *testing.T) {
	t.Parallel()
	e := ownEtcd(t)
	s := run(t, Options{Client: e.client, Prefix: "/x", RingEvents: 2})
	r := s.Resource("g", "p")
	first := put(t, r, "x", "0").Revision
	w := watch(t, r, first)
	var last int64
	for i := range 10 {
		last = put(t, r, "x", fmt.Sprint(i)).Revision
	}
	if err := s.WaitForRevision(deadline(t), last); err != nil {
		t.Fatal(err)
	}
	if _, err := e.client.Compact(deadline(t), last); err != nil {
		t.Fatal(err)
	}
	for _, w := range []*Watcher{w, watch(t, r, first)} {
		if _, err := w.Next(deadline(t)); !errors.Is(err, ErrCompacted) {
			t.Errorf("%v", err)
		}
	}
	for _, at := range []int64{first, last - 3} {
		old := snapshot(t, r, ReadAt{Mode: Exact, Revision: at})
		for _, err := range old.Ascend(deadline(t), "", "") {
			if !errors.Is(err, ErrCompacted) {
				t.Errorf("at %d: %v", at, err)
			}
		}
		if _, err := old.Count(deadline(t), "", ""); !errors.Is(err, ErrCompacted) {
			t.Errorf("at %d: %v", at, err)
		}
		if _, _, err := r.Get(deadline(t), "x", ReadAt{Mode: Exact, Revision: at}); !errors.Is(err, ErrCompacted) {
			t.Errorf("at %d: %v", at, err)
		}
	}
	next(t, watch(t, r, last-1), 1) // the ring has it
	if got := entries(t, deadline(t), snapshot(t, r, ReadAt{Mode: Exact, Revision: last - 1}), "", ""); len(got) != 1 ||
		string(got[0].Value) != "8" {
		t.Errorf("%+v", got)
	}
}

func TestRelease(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	r := s.Resource("g", "p")
	w := watch(t, r, snapshot(t, r, ReadAt{}).Revision)
	waiting := make(chan error)
	go func() {
		_, err := w.Next(context.Background())
		waiting <- err
	}()
	r.Release()
	if err := <-waiting; !errors.Is(err, ErrClosed) {
		t.Errorf("%v", err)
	}
	if r.cache != nil || r.ring != nil {
		t.Error("memory was not freed")
	}
	e := put(t, r, "x", "1")
	if got := entries(t, deadline(t), snapshot(t, r, ReadAt{}), "", ""); len(got) != 1 ||
		got[0].Revision != e.Revision {
		t.Errorf("%+v", got)
	}
	again := watch(t, r, e.Revision)
	put(t, r, "x", "2")
	next(t, again, 1)
	if _, err := w.Next(context.Background()); !errors.Is(err, ErrClosed) {
		t.Errorf("%v", err)
	}
}

// TestLostEvents: etcd compacts events while the feed is disconnected.
func TestLostEvents(t *testing.T) {
	t.Parallel()
	e := ownEtcd(t)
	s := run(t, Options{Client: e.proxy.dial(t), Prefix: "/x"})
	aside := run(t, Options{Client: e.client, Prefix: "/x"}).Resource("g", "p")
	r, quiet := s.Resource("g", "p"), s.Resource("g", "quiet")
	put(t, aside, "a", "0")
	before := put(t, aside, "b", "0").Revision
	watchers := []*Watcher{watch(t, r, before), watch(t, quiet, before)}
	snapshot(t, r, ReadAt{})
	e.proxy.cut(true)
	put(t, aside, "b", "1")
	put(t, aside, "new", "1")
	remove(t, aside, "a")
	resp, err := e.client.Put(deadline(t), "/outside", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.client.Compact(deadline(t), resp.Header.Revision); err != nil {
		t.Fatal(err)
	}
	e.proxy.open()
	if err := s.WaitForRevision(deadline(t), resp.Header.Revision); err != nil {
		t.Fatal(err)
	}
	for _, w := range watchers {
		if _, err := w.Next(deadline(t)); !errors.Is(err, ErrCompacted) {
			t.Errorf("%v", err)
		}
	}
	if got, want := render(entries(t, deadline(t), snapshot(t, r, ReadAt{}), "", "")), render(entries(t, deadline(t),
		snapshot(t, aside, ReadAt{}), "", "")); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	after := put(t, aside, "end", "1").Revision
	if got := next(t, watch(t, r, after-1), 1); got[0].Revision != after {
		t.Errorf("%s", describe(got))
	}
	put(t, quiet, "x", "1")
	if got := next(t, watch(t, quiet, after), 1); got[0].Prev != nil || got[0].Entry.Key != "x" {
		t.Errorf("%s", describe(got))
	}
}

// TestSilentEtcd checks that consistent reads go to an etcd that does not report progress, and soon stop waiting for
// it.
func TestSilentEtcd(t *testing.T) {
	t.Parallel()
	e := ownEtcd(t) // writes of other tests would be revisions that the feed does not hear of
	client := clientv3.NewCtxClient(context.Background())
	client.KV, client.Watcher = e.client.KV, silentWatcher{e.client.Watcher}
	s := run(t, Options{Client: client, Prefix: "/x", WaitFor: 1500 * time.Millisecond})
	ctx := deadline(t)
	r := s.Resource("g", "p")
	first := put(t, r, "x", "1")
	if err := r.warm(ctx); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < 3 || !s.feed.silent.Load(); i++ { // then reads do not wait
		if _, err := e.client.Put(ctx, "/outside", ""); err != nil {
			t.Fatal(err)
		}
		got, revision, err := r.Get(ctx, "x", ReadAt{})
		if err != nil || got.Revision != first.Revision || revision <= first.Revision {
			t.Errorf("%+v at %d, %v", got, revision, err)
		}
		if s := snapshot(t, r, ReadAt{}); s.entries != nil || len(entries(t, ctx, s, "", "")) != 1 {
			t.Errorf("read %d was answered from memory", i)
		}
	}
	put(t, r, "y", "1") // brings the feed up to date for the comparison at the end
}

type silentWatcher struct{ clientv3.Watcher }

func (silentWatcher) RequestProgress(context.Context) error { return nil }
