package dynamicstorage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/time/rate"
)

// unfed is a resource in memory without etcd. The test makes its events.
type unfed struct {
	*Resource
	revision int64
}

// newUnfed returns a resource with a limit of deliveries; 0 stands for the default.
func newUnfed(t testing.TB, limit rate.Limit) *unfed {
	s := &Store{}
	s.options.NewWatcher = func() clientv3.Watcher { panic("there is no etcd") }
	s.options.setDefaults()
	s.background, s.stop = context.WithCancelCause(context.Background())
	s.feed = newFeed(s)
	r := newResource(s, "g/p")
	r.cache, r.ring = newCache(newTree(), 1), newRing(s.options.RingEvents, s.options.RingBytes, 1)
	r.deliveries.limit = limit
	u := &unfed{Resource: r, revision: 1}
	u.event()
	t.Cleanup(func() { s.stop(ErrClosed) })
	return u
}

// event applies one event, as the feed does.
func (u *unfed) event() { u.events("x") }

// events applies events of keys, in one response.
func (u *unfed) events(keys ...string) {
	u.mu.Lock()
	for _, key := range keys {
		u.revision++
		event := Event{Revision: u.revision, Entry: &Entry{Key: key, Revision: u.revision}}
		u.ring.push(event)
		u.notifyLocked(&event)
	}
	u.cache.changed = u.revision
	u.mu.Unlock()
	u.store.feed.move(u.revision)
	u.deliver()
}

// arrival is a batch that a watcher has received.
type arrival struct {
	after       time.Duration
	first, last int64
}

func (a arrival) String() string { return fmt.Sprintf("%v:%d-%d", a.after, a.first, a.last) }

// follow records the batches that a new watcher of keys receives until ctx ends.
func (u *unfed) follow(ctx context.Context, t *testing.T, keys string, following *sync.WaitGroup) *[]arrival {
	w, err := u.WatchKeys(ctx, keys, u.revision)
	if err != nil {
		t.Fatal(err)
	}
	arrivals, began := &[]arrival{}, time.Now()
	following.Go(func() {
		defer w.Close()
		for {
			batch, err := w.Next(ctx)
			if err != nil {
				return
			}
			*arrivals = append(*arrivals, arrival{time.Since(began), batch[0].Revision, batch[len(batch)-1].Revision})
		}
	})
	return arrivals
}

// TestDeliveryLimit checks that after a quiet time events are delivered at once. Above the limit watchers queue, and
// get the events that arrive meanwhile in one batch.
func TestDeliveryLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := newUnfed(t, 500)
		time.Sleep(time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		var following sync.WaitGroup
		var got []*[]arrival
		for range 3 {
			got = append(got, u.follow(ctx, t, "", &following))
		}
		synctest.Wait()
		for range 8 { // at 0, 0.5 ... 3.5 ms: revisions 3 to 10
			u.event()
			synctest.Wait()
			time.Sleep(time.Millisecond / 2)
		}
		time.Sleep(time.Second - 4*time.Millisecond)
		u.event() // 11
		time.Sleep(time.Second)
		cancel()
		following.Wait()
		var times []string
		for n, arrivals := range got {
			checkComplete(t, n, *arrivals, 2, 11)
			times = append(times, fmt.Sprint(*arrivals))
		}
		slices.Sort(times) // the order of the watchers is not determined
		want := []string{
			"[0s:3-3 2ms:4-7 8.5ms:8-10 1s:11-11]",
			"[0s:3-3 4.5ms:4-10 1s:11-11]",
			"[0s:3-3 500µs:4-4 6.5ms:5-10 1s:11-11]",
		}
		if !slices.Equal(times, want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(times, "\n"), strings.Join(want, "\n"))
		}
		if u.watchers != 0 || len(u.scopes) != 0 || len(u.deliveries.waiting) != 0 {
			t.Errorf("left: %d watchers, %d scopes, %+v", u.watchers, len(u.scopes), u.deliveries)
		}
	})
}

// TestFewWatchersDoNotQueue checks that below the limit every event is delivered at once.
func TestFewWatchersDoNotQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := newUnfed(t, 0)
		ctx, cancel := context.WithCancel(t.Context())
		var following sync.WaitGroup
		var got []*[]arrival
		for range 20 {
			got = append(got, u.follow(ctx, t, "", &following))
		}
		const events = 100
		for range events {
			synctest.Wait()
			u.event()
			time.Sleep(time.Duration(20 / float64(u.deliveries.limit) * float64(time.Second)))
		}
		cancel()
		following.Wait()
		for n, arrivals := range got {
			if len(*arrivals) != events {
				t.Errorf("watcher %d: %v", n, *arrivals)
			}
		}
	})
}

// TestMaxDeliveryDelay checks that the delay is bounded for any number of watchers.
func TestMaxDeliveryDelay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const watchers = 3000
		u := newUnfed(t, 1000)
		ctx, cancel := context.WithCancel(t.Context())
		var following sync.WaitGroup
		var got []*[]arrival
		for range watchers {
			got = append(got, u.follow(ctx, t, "", &following))
		}
		synctest.Wait()
		u.event()
		time.Sleep(10 * time.Second)
		cancel()
		following.Wait()
		var longest time.Duration
		for n, arrivals := range got {
			checkComplete(t, n, *arrivals, 2, 3)
			longest = max(longest, (*arrivals)[0].after)
		}
		if longest < maxDeliveryDelay/2 || longest > maxDeliveryDelay+deliveryInterval {
			t.Errorf("a watcher waited %v", longest)
		}
	})
}

// TestNoDelayBeforeEventsAreEvicted checks that watchers do not queue while the ring evicts their events.
func TestNoDelayBeforeEventsAreEvicted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := newUnfed(t, 1)
		u.ring.maxEvents = 3
		ctx, cancel := context.WithCancel(t.Context())
		var following sync.WaitGroup
		var got []*[]arrival
		for range 5 {
			got = append(got, u.follow(ctx, t, "", &following))
		}
		for range 30 {
			synctest.Wait()
			u.event()
		}
		time.Sleep(time.Minute)
		cancel()
		following.Wait()
		for n, arrivals := range got {
			checkComplete(t, n, *arrivals, 2, 32)
		}
	})
}

// TestScopes checks that an event wakes only the watchers of its scopes. The others miss nothing, although the ring has
// evicted most events.
func TestScopes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := newUnfed(t, 0)
		u.ring.maxEvents = 10
		ctx, cancel := context.WithCancel(t.Context())
		var following sync.WaitGroup
		keys := []string{"", "ns/", "ns/a", "ns/b", "n", "n/", "other/a"}
		got := map[string]*[]arrival{}
		for _, keys := range keys {
			got[keys] = u.follow(ctx, t, keys, &following)
		}
		w, err := u.WatchKeys(ctx, "ns/c", u.revision)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		u.events("ns/a", "ns/b", "n") // 3 to 5
		synctest.Wait()
		for range 40 { // 6 to 85
			u.events("x", "ns2/a")
			synctest.Wait()
			if now := w.Revision(); now != u.revision {
				t.Fatalf("revision %d of %d", now, u.revision)
			}
		}
		u.events("ns/b") // 86
		synctest.Wait()
		u.events("x", "ns/c", "x", "ns/c", "x") // 87 to 91
		if now := w.Revision(); now >= 88 {
			t.Errorf("revision %d, event 88 was not returned", now)
		}
		batch, err := w.Next(ctx)
		if err != nil || len(batch) != 2 || batch[0].Revision != 88 || batch[1].Revision != 90 || w.Revision() != 91 {
			t.Errorf("%v, %v, revision %d", batch, err, w.Revision())
		}
		w.Close()
		synctest.Wait()
		cancel()
		following.Wait()
		for keys, want := range map[string]string{
			"ns/": "[3-4 86-86 88-90]", "ns/a": "[3-3]", "ns/b": "[4-4 86-86]", "n": "[5-5]", "n/": "[]",
			"other/a": "[]",
		} {
			if text := strings.ReplaceAll(fmt.Sprint(*got[keys]), "0s:", ""); text != want {
				t.Errorf("%q: got %s, want %s", keys, text, want)
			}
		}
		checkComplete(t, 0, *got[""], 2, 91)
	})
}

// TestBehindTheRing checks watchers after a response with more events than fit into the ring.
func TestBehindTheRing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := newUnfed(t, 0)
		u.ring.maxEvents = 3
		w, err := u.WatchKeys(t.Context(), "a", u.revision)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		if _, wait, err := w.poll(); !wait || err != nil {
			t.Fatal(wait, err)
		}
		u.events("a", "x", "x", "x")
		if _, _, err := w.poll(); !errors.Is(err, errBehind) || w.Revision() != 2 {
			t.Errorf("%v, revision %d", err, w.Revision())
		}
	})
}

// checkComplete checks that a watcher got all events after a revision up to another one, in order and once.
func checkComplete(t *testing.T, watcher int, arrivals []arrival, after, last int64) {
	t.Helper()
	for _, a := range arrivals {
		if a.first != after+1 {
			t.Errorf("watcher %d: after %d came %d: %v", watcher, after, a.first, arrivals)
			return
		}
		after = a.last
	}
	if after != last {
		t.Errorf("watcher %d: got events up to %d of %d", watcher, after, last)
	}
}

// TestEmptyReplay checks a watcher that is behind the ring and for which etcd has no events.
func TestEmptyReplay(t *testing.T) {
	t.Parallel()
	u := newUnfed(t, 0)
	u.ring, u.revision = newRing(10, 1000, 20), 20
	u.store.feed.move(20)
	w, err := u.WatchKeys(t.Context(), "a", 15)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, _, err := w.poll(); !errors.Is(err, errBehind) {
		t.Fatal(err)
	}
	u.ring.prepend(nil, 15)
	_, _, _ = w.poll()
	if events, wait, err := w.poll(); !wait || len(events) > 0 || err != nil || w.Revision() != 20 {
		t.Errorf("%v, %v, %v, revision %d", events, wait, err, w.Revision())
	}
}

// TestRingRead checks that a read skips events of other scopes, and returns all events of a revision or none.
func TestRingRead(t *testing.T) {
	t.Parallel()
	r := newRing(100, 1<<20, 10)
	for n, key := range []string{"a", "b", "c/a", "a", "c/b", "b"} {
		r.push(Event{Revision: 11 + int64(n)/2, Entry: &Entry{Key: key}}) // 11, 11, 12, 12, 13, 13
	}
	for _, c := range []struct {
		keys    string
		limit   int
		want    string
		reached int64
	}{
		{"", 100, "[a b c/a a c/b b]", 13}, {"", 1, "[a b]", 11}, {"", 3, "[a b c/a a]", 12},
		{"a", 100, "[a a]", 13}, {"a", 1, "[a]", 11}, {"c/", 100, "[c/a c/b]", 13}, {"c/", 1, "[c/a]", 12},
		{"c/b", 1, "[c/b]", 13}, {"d", 1, "[]", 13},
	} {
		events, reached := r.read(10, c.keys, c.limit)
		got := []string{}
		for _, event := range events {
			got = append(got, event.key())
		}
		if fmt.Sprint(got) != c.want || reached != c.reached {
			t.Errorf("%q, %d: got %v up to %d, want %s up to %d", c.keys, c.limit, got, reached, c.want, c.reached)
		}
	}
}
