package workers

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestWork checks that items are synced until that succeeds, and that Work returns when its context is done.
func TestWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		queue := NewQueue[string]("test", time.Minute)
		queue.Add("a")
		calls := 0
		queue.Work(ctx, 1, "Failed in a test", func(_ context.Context, item string) error {
			if calls++; item != "a" || calls < 5 {
				return Waiting(errors.New("not yet"))
			}
			cancel()
			return nil
		})
		if calls != 5 || queue.NumRequeues("a") != 0 {
			t.Errorf("%d calls, and %d to come", calls, queue.NumRequeues("a"))
		}
	})
}
