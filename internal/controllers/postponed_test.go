package controllers

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestPostponed holds that names are looked at together, and none of them before its writer has had its time.
func TestPostponed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // guards added and turns
		added := map[string]time.Time{}
		var turns [][]string
		w := &postponed{take: func(names []string) {
			mu.Lock()
			defer mu.Unlock()
			for _, name := range names {
				if waited := time.Since(added[name]); waited < settleWithin || waited > 2*settleWithin {
					t.Errorf("%s has waited %s", name, waited)
				}
			}
			if len(names) > 0 {
				turns = append(turns, names)
			}
		}}
		add := func(name string) {
			mu.Lock()
			added[name] = time.Now()
			mu.Unlock()
			w.add(name)
		}
		add("a")
		time.Sleep(settleWithin / 2)
		add("b")
		time.Sleep(settleWithin)
		add("c")
		time.Sleep(10 * settleWithin)
		add("d")
		time.Sleep(10 * settleWithin)
		synctest.Wait()
		if want := [][]string{{"a", "b"}, {"c"}, {"d"}}; !slices.EqualFunc(turns, want, slices.Equal) {
			t.Errorf("turns %q, want %q", turns, want)
		}
		if w.ticking {
			t.Error("a timer runs for nothing")
		}
	})
}
