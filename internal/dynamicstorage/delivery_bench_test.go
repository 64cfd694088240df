package dynamicstorage

import (
	"context"
	"fmt"
	"sync"
	"testing"
)

// BenchmarkDelivery delivers one event to 200 watchers.
func BenchmarkDelivery(b *testing.B) {
	u := newUnfed(b, 1e9)
	benchmarkDelivery(b, u, func(int) string { return "" }, 200, func(int) string { return "x" })
}

// BenchmarkScopes has watchers of one object each, and events that concern one of them.
func BenchmarkScopes(b *testing.B) {
	for _, watchers := range []int{10, 10_000} {
		b.Run(fmt.Sprint(watchers), func(b *testing.B) {
			u := newUnfed(b, 1e9)
			key := func(n int) string { return fmt.Sprint("ns/", n%watchers) }
			benchmarkDelivery(b, u, key, watchers, key)
		})
	}
}

// benchmarkDelivery delivers events of the keys that event returns to all watchers, or to the one of the key.
func benchmarkDelivery(b *testing.B, u *unfed, keys func(int) string, watchers int, event func(int) string) {
	ctx, cancel := context.WithCancel(context.Background())
	var following, delivered sync.WaitGroup
	for n := range watchers {
		w, err := u.WatchKeys(ctx, keys(n), u.revision)
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
	concerned := watchers
	if keys(0) != "" {
		concerned = 1
	}
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		delivered.Add(concerned)
		u.events(event(n))
		delivered.Wait()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(concerned), "ns/delivery")
	cancel()
	following.Wait()
}
