package write

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// allocation is what a write has allocated for its object; nothing for nearly all resources.
type allocation struct{ resource.Allocation }

// allocate lets the allocator of the resource complete an object. Writes of subresources allocate nothing.
func (e *Endpoint) allocate(ctx context.Context, obj, old runtime.Object, dryRun bool) (allocation, error) {
	if e.Allocator == nil || e.Subresource != "" {
		return allocation{}, nil
	}
	a, err := e.Allocator.Allocate(ctx, obj, old, dryRun)
	return allocation{a}, err
}

// end ends an allocation. stored says that the object was stored. It may be called again, and then does nothing. a may
// be nil.
func (a *allocation) end(ctx context.Context, stored bool) {
	if a == nil || a.Allocation == nil {
		return
	}
	ctx = context.WithoutCancel(ctx) // the request may be over, but the allocator must know
	if stored {
		a.Commit(ctx)
	} else {
		a.Revert(ctx)
	}
	a.Allocation = nil
}

// release gives back what a removed object had allocated.
func (e *Endpoint) release(ctx context.Context, obj runtime.Object) {
	if e.Allocator != nil {
		e.Allocator.Release(context.WithoutCancel(ctx), obj)
	}
}
