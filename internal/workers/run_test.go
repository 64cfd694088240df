package workers

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"

	"k8s.io/client-go/util/workqueue"
)

// TestRun checks that all items are processed, no more than the limit at a time and none twice at a time, that no
// goroutine is left when there is no work, and that Run waits for the last ones. It counts the goroutines of the
// process, so no test runs beside it.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit, items = 3, 10
		queue := workqueue.NewTyped[int]()
		var mu sync.Mutex // guards the variables below
		active, most, calls := map[int]bool{}, 0, 0
		proceed := make(chan struct{})
		var running sync.WaitGroup
		running.Go(func() {
			Run(queue, limit, func(item int) {
				mu.Lock()
				if active[item] {
					t.Errorf("item %d is processed twice at a time", item)
				}
				active[item] = true
				most = max(most, len(active))
				calls++
				mu.Unlock()
				<-proceed
				mu.Lock()
				delete(active, item)
				mu.Unlock()
			})
		})
		synctest.Wait()
		idle := runtime.NumGoroutine()
		for n := range items {
			queue.Add(n)
		}
		synctest.Wait()
		queue.Add(0) // while it is processed
		if len(active) != limit {
			t.Errorf("%d items are processed, want %d", len(active), limit)
		}
		for range items + 1 {
			proceed <- struct{}{}
		}
		synctest.Wait()
		if n := runtime.NumGoroutine(); n > idle {
			t.Errorf("%d goroutines without work, and %d before", n, idle)
		}
		queue.Add(items)
		synctest.Wait()
		queue.ShutDown()
		synctest.Wait()
		close(proceed)
		running.Wait()
		if most != limit || calls != items+2 || len(active) != 0 {
			t.Errorf("%d calls, up to %d at a time, and %d have not ended", calls, most, len(active))
		}
	})
}
