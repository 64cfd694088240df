package etcdtest

import (
	"context"
	"sync"
	"testing"
)

// Run has run work beside a test: a store, a controller. It is told to end when the test does, and waited for, so that the
// etcd it works on is still there. An error of it fails the test.
func Run(t testing.TB, run func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := run(ctx); err != nil && ctx.Err() == nil {
			t.Errorf("what runs beside the test has failed: %v", err)
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
}
