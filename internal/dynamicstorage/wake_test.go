package dynamicstorage

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// unfed is a resource in memory whose events the test makes; there is no etcd.
type unfed struct {
	*Resource
	revision int64
}

// newUnfed returns a resource whose groups have so many watchers.
func newUnfed(t testing.TB, groupSize int) *unfed {
	s := &Store{}
	s.options.setDefaults()
	s.background, s.stop = context.WithCancelCause(context.Background())
	s.feed = newFeed(s)
	r := newResource(s, "g/p")
	r.cache, r.ring = newCache(newTree(), 1), newRing(s.options.RingEvents, s.options.RingBytes, 1)
	r.rota.size = groupSize
	u := &unfed{Resource: r, revision: 1}
	u.event() // what a ring begins with is shown to all at once
	t.Cleanup(func() { s.stop(ErrClosed) })
	return u
}

// event brings one more event, as the feed does.
func (u *unfed) event() {
	u.revision++
	u.mu.Lock()
	u.ring.push(Event{Revision: u.revision, Entry: &Entry{Key: "x", Revision: u.revision}})
	u.cache.changed = u.revision
	u.mu.Unlock()
	u.store.feed.move(u.revision)
	u.wakeWatchers()
}

// arrival is a batch that a watcher has got.
type arrival struct {
	after       time.Duration
	first, last int64
}

func (a arrival) String() string { return fmt.Sprintf("%v:%d-%d", a.after, a.first, a.last) }

// follow notes what a new watcher gets, and when, until ctx ends.
func (u *unfed) follow(ctx context.Context, t *testing.T, following *sync.WaitGroup) *[]arrival {
	w, err := u.Watch(ctx, u.revision)
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

// TestTurns: an event after a quiet time goes out at once, group by group; what comes meanwhile goes with the next turn.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUnfed(t, 2)
		time.Sleep(time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		var following sync.WaitGroup
		var got []*[]arrival
		for range 6 {
			got = append(got, u.follow(ctx, t, &following))
		}
		synctest.Wait()
		for range 4 { // at 0, 0.4, 0.8 and 1.2 ms: revisions 3 to 6
			u.event()
			synctest.Wait()
			time.Sleep(turnLength * 2 / 5)
		}
		time.Sleep(time.Second - turnLength*8/5)
		u.event() // 7
		time.Sleep(time.Second)
		cancel()
		following.Wait()
		want := []string{
			"[0s:3-3 3ms:4-6 1s:7-7]",
			"[1ms:3-5 4ms:6-6 1.001s:7-7]",
			"[2ms:3-6 1.002s:7-7]",
		}
		for n, arrivals := range got {
			if fmt.Sprint(*arrivals) != want[n/2] {
				t.Errorf("watcher %d: got %v, want %v", n, *arrivals, want[n/2])
			}
		}
		if u.watchers != 0 || len(u.rota.groups) != 0 || len(u.rota.queue) != 0 {
			t.Errorf("left: %d watchers, %+v", u.watchers, u.rota)
		}
	})
}

// TestFewWatchersDoNotWait: they are one group.
func TestFewWatchersDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUnfed(t, 0)
		ctx, cancel := context.WithCancel(t.Context())
		var following sync.WaitGroup
		var got []*[]arrival
		for range groupSize() {
			got = append(got, u.follow(ctx, t, &following))
		}
		for range 3 {
			synctest.Wait()
			u.event()
		}
		synctest.Wait()
		cancel()
		following.Wait()
		for n, arrivals := range got {
			if fmt.Sprint(*arrivals) != "[0s:3-3 0s:4-4 0s:5-5]" {
				t.Errorf("watcher %d: %v", n, *arrivals)
			}
		}
	})
}

// TestTurnsAreSkippedBeforeEventsAreLost: the ring has no room for what waits.
func TestTurnsAreSkippedBeforeEventsAreLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUnfed(t, 1)
		u.ring.maxEvents = 3
		time.Sleep(time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		var following sync.WaitGroup
		var got []*[]arrival
		for range 5 {
			got = append(got, u.follow(ctx, t, &following))
		}
		for range 30 {
			synctest.Wait()
			u.event()
		}
		time.Sleep(time.Second)
		cancel()
		following.Wait()
		for n, arrivals := range got {
			checkComplete(t, n, *arrivals, 2, 32)
		}
	})
}

// checkComplete checks that a watcher got all events after a revision, up to another, in order and once.
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

// TestTurnsAtRandom: watchers come and go, are slow or not, and events come at any time. Nothing is lost, doubled or out of
// order, a watcher's revision covers nothing that it has not returned, and nobody waits for more than a round.
func TestTurnsAtRandom(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { turnsAtRandom(t, rand.New(rand.NewPCG(seed, 0))) })
		})
	}
}

func turnsAtRandom(t *testing.T, rnd *rand.Rand) {
	const watchers, events = 12, 300
	u := newUnfed(t, 1+rnd.IntN(3))
	var (
		mu   sync.Mutex // guards came
		came = map[int64]time.Time{}
	)
	ctx, cancel := context.WithCancel(t.Context())
	var following sync.WaitGroup
	for n := range watchers {
		own := rand.New(rand.NewPCG(rnd.Uint64(), 0))
		following.Go(func() {
			for ctx.Err() == nil {
				time.Sleep(time.Duration(own.IntN(3000)) * time.Microsecond)
				w, err := u.Watch(ctx, u.store.feed.current())
				if err != nil {
					t.Error(err)
					return
				}
				seen := w.Revision()
				for range own.IntN(50) {
					slow := own.IntN(4) == 0
					idle := time.Now()
					batch, err := w.Next(ctx)
					if err != nil && !errors.Is(err, context.Canceled) {
						t.Error(err)
					}
					for _, event := range batch {
						if seen++; event.Revision != seen {
							t.Errorf("watcher %d: got %d, want %d", n, event.Revision, seen)
						}
						mu.Lock()
						began := came[event.Revision]
						mu.Unlock()
						if idle.After(began) {
							began = idle
						}
						if waited := time.Since(began); waited > (watchers+1)*turnLength {
							t.Errorf("watcher %d: waited %v for %d", n, waited, event.Revision)
						}
					}
					if now := w.Revision(); now != seen { // each revision is an event
						t.Errorf("watcher %d: revision %d, but got %d", n, now, seen)
					}
					if slow {
						time.Sleep(time.Duration(own.IntN(8000)) * time.Microsecond)
					}
				}
				w.Close()
			}
		})
	}
	for range events {
		mu.Lock()
		came[u.revision+1] = time.Now()
		mu.Unlock()
		u.event()
		if rnd.IntN(3) > 0 {
			time.Sleep(time.Duration(rnd.IntN(2500)) * time.Microsecond)
		}
	}
	time.Sleep(time.Second)
	cancel()
	following.Wait()
}

// TestReadUpTo: events after a revision are left for later.
func TestReadUpTo(t *testing.T) {
	r := newRing(100, 1<<20, 10)
	for _, revision := range []int64{11, 12, 12, 13, 15} {
		r.push(Event{Revision: revision})
	}
	for upTo, want := range map[int64][]int64{10: nil, 11: {11}, 12: {11, 12, 12}, 14: {11, 12, 12, 13}, forever: {11, 12, 12, 13, 15}} {
		var got []int64
		for _, event := range r.read(nil, 10, upTo, 100) {
			got = append(got, event.Revision)
		}
		if !slices.Equal(got, want) {
			t.Errorf("up to %d: got %v, want %v", upTo, got, want)
		}
	}
}

// BenchmarkWake has one event go to 200 watchers and waits until all have it.
func BenchmarkWake(b *testing.B) {
	const watchers = 200
	u := newUnfed(b, watchers)
	ctx, cancel := context.WithCancel(context.Background())
	var following, delivered sync.WaitGroup
	for range watchers {
		w, err := u.Watch(ctx, u.revision)
		if err != nil {
			b.Fatal(err)
		}
		following.Go(func() {
			defer w.Close()
			for {
				batch, err := w.Next(ctx)
				if err != nil {
					return
				}
				delivered.Add(-len(batch))
			}
		})
	}
	b.ReportAllocs()
	for b.Loop() {
		delivered.Add(watchers)
		u.event()
		delivered.Wait()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/watchers, "ns/delivery")
	cancel()
	following.Wait()
}
