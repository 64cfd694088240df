package namespaces

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/semaphore"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/workers"
)

// maxParallel bounds the resources of all namespaces whose objects are deleted at the same time.
const maxParallel = 16

// deleter deletes the content of namespaces.
type deleter struct {
	rest      rest.Interface // of this server, for the objects of all resources
	resources func() []Resource
	slots     *semaphore.Weighted
}

// deleteContent deletes the objects of all resources in a namespace. It also returns the resources that have objects
// left.
func (d *deleter) deleteContent(ctx context.Context, namespace string) (*content, []*dynamicstorage.Resource) {
	found := &content{remaining: map[schema.GroupVersionResource]int{}, finalizers: map[string]int{}}
	var left []*dynamicstorage.Resource
	var mu sync.Mutex // guards found and left
	var running sync.WaitGroup
	for _, r := range d.resources() {
		if err := d.slots.Acquire(ctx, 1); err != nil {
			found.errs = append(found.errs, err)
			break
		}
		running.Go(func() {
			defer d.slots.Release(1)
			remaining, err := d.deleteObjects(ctx, r, namespace)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				found.errs = append(found.errs, err)
			}
			if remaining.objects > 0 {
				found.remaining[r.GroupVersionResource] = remaining.objects
				left = append(left, r.Objects)
			}
			for finalizer, n := range remaining.finalizers {
				found.finalizers[finalizer] += n
			}
		})
	}
	running.Wait()
	return found, left
}

// deleteObjects deletes the objects of a resource in a namespace, and returns those that are left. A resource that is
// not served any more has none.
func (d *deleter) deleteObjects(ctx context.Context, r Resource, namespace string) (left remains, err error) {
	if has, err := r.Objects.HasBelow(ctx, namespace+"/"); err != nil || !has {
		return left, err
	}
	if err := d.deleteAll(ctx, r.GroupVersionResource, namespace); err != nil {
		return left, ignoreNotServed(err)
	}
	if has, err := r.Objects.HasBelow(ctx, namespace+"/"); err != nil || !has {
		return left, err
	}
	left, err = d.count(ctx, r.GroupVersionResource, namespace)
	if err == nil && left.objects > 0 && len(left.finalizers) == 0 && !left.graceful {
		err = workers.Waiting(fmt.Errorf("unexpected items still remain in namespace: %s for gvr: %v",
			namespace, r.GroupVersionResource))
	}
	return left, ignoreNotServed(err)
}

// ignoreNotServed returns nil instead of the error of a resource that is not served: its CRD was deleted meanwhile.
func ignoreNotServed(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
		return nil
	}
	return err
}

// waitEmpty waits until a resource has no objects in a namespace that takes no new ones.
func waitEmpty(ctx context.Context, r *dynamicstorage.Resource, namespace string) error {
	keys := namespace + "/"
	snapshot, err := r.Snapshot(ctx, dynamicstorage.ReadAt{Mode: dynamicstorage.Consistent})
	if err != nil {
		return err
	}
	left, err := snapshot.Count(ctx, keys, "")
	if err != nil || left == 0 {
		return err
	}
	watcher, err := r.WatchKeys(ctx, keys, snapshot.Revision)
	if err != nil {
		return err
	}
	defer watcher.Close()
	for left > 0 {
		events, err := watcher.Next(ctx)
		if err != nil {
			return err
		}
		for n := range events {
			switch {
			case events[n].Entry == nil:
				left--
			case events[n].Prev == nil:
				left++
			}
		}
	}
	return nil
}
