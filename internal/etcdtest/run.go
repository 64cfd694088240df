package etcdtest

import (
	"context"
	"sync"
	"testing"
)

// Run runs a component, for example a store, until the end of the test. It waits for it then, so that the etcd
// outlives the component. An error of the component fails the test.
func Run(t testing.TB, run func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := run(ctx); err != nil && ctx.Err() == nil {
			t.Errorf("a component has failed: %v", err)
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
}
