package admission

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// Follow names a stored resource whose objects are rules: webhooks, or bindings of policies. It must be called before
// Run.
func (a *Admission) Follow(rules *dynamicstorage.Resource) {
	known := make(chan struct{})
	f := &followed{resource: rules, known: known, countedOnce: sync.OnceFunc(func() { close(known) })}
	f.count.Store(unknown)
	a.rules = append(a.rules, f)
}

const unknown = -1

// followed counts the objects of a resource. That costs one goroutine, and no informer.
type followed struct {
	resource *dynamicstorage.Resource
	count    atomic.Int64 // unknown before they have been counted
	// known is closed by countedOnce when the objects that were stored at the start are counted.
	known       chan struct{}
	countedOnce func()
}

// any reports whether there are objects, or may be because they have not been counted yet.
func (f *followed) any() bool { return f.count.Load() != 0 }

// run counts until ctx is done. It calls found when there are objects.
func (f *followed) run(ctx context.Context, found func()) {
	count := int64(0)
	f.resource.Follow(ctx, dynamicstorage.Follower{
		Begin: func() { count = 0 },
		Changed: func(event *dynamicstorage.Event) {
			switch {
			case event.Entry == nil:
				count--
			case event.Prev == nil:
				count++
			}
		},
		Current: func(int64) {
			if f.count.Store(count); count > 0 {
				found()
			}
			f.countedOnce()
		},
	})
}
