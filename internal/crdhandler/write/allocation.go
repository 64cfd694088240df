package write

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/crdhandler/objectmeta"
)

// allocate lets the allocator of the resource complete an object. Writes of subresources allocate nothing.
func (e *Endpoint) allocate(ctx context.Context, obj, old runtime.Object, dryRun bool) (resource.Allocated, error) {
	if e.Allocator == nil || e.Subresource != "" {
		return resource.Allocated{}, nil
	}
	a, err := e.Allocator.Allocate(ctx, obj, old, dryRun)
	return resource.Allocated{Allocation: a}, e.Objects.APIError(err, objectmeta.Accessor(obj).GetName())
}

// release gives back what an object had allocated, if it was removed. obj may be nil.
func (e *Endpoint) release(ctx context.Context, obj runtime.Object) {
	if e.Allocator != nil && obj != nil {
		e.Allocator.Release(context.WithoutCancel(ctx), obj)
	}
}
