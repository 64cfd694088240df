package workers

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// firstRetry is the delay before the first retry of an item. Every further one doubles it.
const firstRetry = 5 * time.Millisecond

// Queue has the items of a controller that have to be looked at.
type Queue[T comparable] struct {
	workqueue.TypedRateLimitingInterface[T]
}

// NewQueue returns a queue whose metrics have a name. lastRetry bounds the delay between retries of an item.
func NewQueue[T comparable](name string, lastRetry time.Duration) Queue[T] {
	return Queue[T]{workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[T](firstRetry, lastRetry),
		workqueue.TypedRateLimitingQueueConfig[T]{Name: name},
	)}
}

// Work syncs the items of the queue, up to limit of them at a time, until ctx is done and all calls have returned. An
// item that could not be synced comes back later, and message is logged. The queue takes no items afterwards.
func (q Queue[T]) Work(ctx context.Context, limit int, message string, sync func(context.Context, T) error) {
	defer context.AfterFunc(ctx, q.ShutDown)()
	Run(q, limit, func(item T) {
		err := sync(ctx, item)
		if err == nil || ctx.Err() != nil {
			q.Forget(item)
			return
		}
		LogFailure(ctx, err, message, "item", item)
		q.AddRateLimited(item)
	})
}
