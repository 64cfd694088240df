package admission

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// followRetry is the delay after a watch was lost.
const followRetry = time.Second

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

// wait waits until the objects have been counted.
func (f *followed) wait(ctx context.Context) error {
	select {
	case <-f.known:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// run counts until ctx is done. It calls found when there are objects.
func (f *followed) run(ctx context.Context, found func()) {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		if err := f.follow(ctx, found); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Watching admission rules failed, will retry")
		}
	}, followRetry)
}

// follow counts until its watch ends.
func (f *followed) follow(ctx context.Context, found func()) error {
	snapshot, err := f.resource.Snapshot(ctx, dynamicstorage.ReadAt{Mode: dynamicstorage.Consistent})
	if err != nil {
		return fmt.Errorf("list: %w", err)
	}
	watcher, err := f.resource.Watch(ctx, snapshot.Revision)
	if err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	defer watcher.Close()
	for {
		count, err := snapshot.Count(ctx, "", "")
		if err != nil {
			return fmt.Errorf("count: %w", err)
		}
		if f.count.Store(count); count > 0 {
			found()
		}
		f.countedOnce()
		if _, err := watcher.Next(ctx); err != nil {
			return fmt.Errorf("watch: %w", err)
		}
		if snapshot, err = f.resource.Snapshot(ctx, dynamicstorage.ReadAt{Mode: dynamicstorage.Any}); err != nil {
			return fmt.Errorf("list: %w", err)
		}
	}
}
