// Package workers processes the queues of controllers by goroutines that exist only while there is work. The usual loop
// of a fixed number of workers keeps their stacks while the server is idle, which it is most of the time.
package workers

import (
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/util/workqueue"
)

// Run calls process for the items of a queue, for up to limit of them at a time. It ends when the queue is shut down
// and all calls have returned. As the queue promises, there is one call at a time for an item; process decides whether
// the item comes back.
func Run[T comparable](queue workqueue.TypedInterface[T], limit int, process func(item T)) {
	var running errgroup.Group
	running.SetLimit(limit)
	for {
		item, stopped := queue.Get()
		if stopped {
			break
		}
		running.Go(func() error {
			defer queue.Done(item)
			process(item)
			return nil
		})
	}
	_ = running.Wait() // the calls return no errors
}
