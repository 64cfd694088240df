package dynamicstorage

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// updateQueues queue the updates of one key after one of them has lost against another. Without a queue each success makes
// all others start again: the work grows with the square of their number, and an unlucky update never succeeds. There is a
// queue only while updates contend for a key. It does not hold updates of other processes on the same etcd; the guard by
// revision is enough against those.
type updateQueues struct {
	// mu guards byKey and the counts in it.
	mu    sync.Mutex
	byKey map[string]*updateQueue
}

// updateQueue holds the updates of one key in the order of their arrival.
type updateQueue struct {
	head  *semaphore.Weighted
	count int // updates at the head or behind it
}

// contended reports whether there is a queue for the key.
func (q *updateQueues) contended(key string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.byKey[key] != nil
}

// enter returns when the caller is at the head of the queue, which it leaves by calling leave.
func (q *updateQueues) enter(ctx context.Context, key string) (leave func(), err error) {
	q.mu.Lock()
	queue := q.byKey[key]
	if queue == nil {
		queue = &updateQueue{head: semaphore.NewWeighted(1)}
		if q.byKey == nil {
			q.byKey = map[string]*updateQueue{}
		}
		q.byKey[key] = queue
	}
	queue.count++
	q.mu.Unlock()
	if err := queue.head.Acquire(ctx, 1); err != nil {
		q.leave(key, queue)
		return nil, context.Cause(ctx)
	}
	return func() {
		queue.head.Release(1)
		q.leave(key, queue)
	}, nil
}

func (q *updateQueues) leave(key string, queue *updateQueue) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if queue.count--; queue.count == 0 {
		delete(q.byKey, key)
	}
}
