package crdhandler

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/crdhandler/objectmeta"
)

// allocate lets the allocator of the resource complete an object. Writes of subresources allocate nothing.
func (s *requestScope) allocate(ctx context.Context, obj, old runtime.Object, dryRun bool) (resource.Allocated, error) {
	if s.allocator == nil || s.subresource != "" {
		return resource.Allocated{}, nil
	}
	a, err := s.allocator.Allocate(ctx, obj, old, dryRun)
	return resource.Allocated{Allocation: a}, s.storageError(err, objectmeta.Accessor(obj).GetName())
}

// release gives back what an object had allocated, if it was removed. obj may be nil.
func (s *requestScope) release(ctx context.Context, obj runtime.Object) {
	if s.allocator != nil && obj != nil {
		s.allocator.Release(context.WithoutCancel(ctx), obj)
	}
}
