package dynamicstorage

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"
)

// TestRandomDeliveries starts and closes watchers of all scopes, some of them slow, while events arrive at random
// times. It checks that no event is lost, repeated or out of order, that the revision of a watcher covers no event that
// Next has not returned, and that each watcher gets a slot before any other gets its second.
func TestRandomDeliveries(t *testing.T) {
	t.Parallel()
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { randomDeliveries(t, rand.New(rand.NewPCG(seed, 0))) })
		})
	}
}

// history records the events and the times of their arrival.
type history struct {
	mu   sync.Mutex // guards the fields below
	keys []string   // by revision
	came []time.Time
}

func (k *history) add(key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.keys, k.came = append(k.keys, key), append(k.came, time.Now())
}

// next returns the first event of keys after a revision and the time of its arrival; 0 if there is none.
func (k *history) next(keys string, after int64) (int64, time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for revision := after + 1; revision < int64(len(k.keys)); revision++ {
		if covers(keys, k.keys[revision]) {
			return revision, k.came[revision]
		}
	}
	return 0, time.Time{}
}

func randomDeliveries(t *testing.T, rnd *rand.Rand) {
	const watchers, events = 12, 300
	interval := time.Duration(1+rnd.IntN(900)) * time.Microsecond // between deliveries
	u := newUnfed(t, rate.Every(interval))
	keys := []string{"a/x", "a/y", "b/x", "c"}
	scopes := append([]string{"", "", "a/", "b/"}, keys...)
	known := &history{}
	for range u.revision + 1 {
		known.add("none")
	}
	ctx, cancel := context.WithCancel(t.Context())
	var following sync.WaitGroup
	for n := range watchers {
		own := rand.New(rand.NewPCG(rnd.Uint64(), 0))
		following.Go(func() {
			for ctx.Err() == nil {
				time.Sleep(time.Duration(own.IntN(3000)) * time.Microsecond)
				scope := scopes[own.IntN(len(scopes))]
				w, err := u.WatchKeys(ctx, scope, u.store.feed.current())
				if err != nil {
					t.Error(err)
					return
				}
				seen := w.Revision()
				for range own.IntN(50) {
					slow := own.IntN(4) == 0
					asked := time.Now()
					batch, err := w.Next(ctx)
					if err != nil && !errors.Is(err, context.Canceled) {
						t.Error(err)
					}
					for _, event := range batch {
						want, came := known.next(scope, seen)
						if seen = event.Revision; seen != want {
							t.Errorf("watcher %d of %q: got %d, want %d", n, scope, seen, want)
						}
						if asked.After(came) {
							came = asked
						}
						if waited := time.Since(came); waited > (watchers+2)*(interval+deliveryInterval) {
							t.Errorf("watcher %d: waited %v for %d", n, waited, event.Revision)
						}
					}
					now := w.Revision()
					if missed, _ := known.next(scope, seen); missed != 0 && missed <= now {
						t.Errorf("watcher %d of %q: revision %d, but got %d", n, scope, now, seen)
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
		batch := make([]string, 1+rnd.IntN(3))
		for n := range batch {
			batch[n] = keys[rnd.IntN(len(keys))]
			known.add(batch[n])
		}
		u.events(batch...)
		if rnd.IntN(3) > 0 {
			time.Sleep(time.Duration(rnd.IntN(2500)) * time.Microsecond)
		}
	}
	time.Sleep(time.Second)
	cancel()
	following.Wait()
}
