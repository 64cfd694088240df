package resource

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// Allocator gives the objects of a resource what they share with others, such as addresses. It is called when mutating
// admission has changed an object, and before the object is prepared and validated.
type Allocator interface {
	// Allocate completes a new object, or an update of old: old is nil for a new object. In a dry run it takes nothing.
	// The caller ends the allocation when it knows whether the object was stored. An error answers the request.
	Allocate(ctx context.Context, obj, old runtime.Object, dryRun bool) (Allocation, error)
	// Release gives back what an object had, if it was removed: the caller may not know.
	Release(ctx context.Context, obj runtime.Object)
}

// Allocation is what an object has got, and what it has given up.
type Allocation interface {
	// Conditions must hold when the object is stored: it still has what it has got.
	Conditions() []dynamicstorage.Condition
	// End is called once, after the write. If stored is true, it gives back what the object has given up. Otherwise the
	// object may have been stored all the same, so End gives back what the stored object does not have.
	End(ctx context.Context, stored bool)
}

// Allocated holds what a write has allocated for its object. It is empty for most resources. Its methods may be called
// on nil.
type Allocated struct{ Allocation }

// Conditions must hold at the commit of the write.
func (a *Allocated) Conditions() []dynamicstorage.Condition {
	if a == nil || a.Allocation == nil {
		return nil
	}
	return a.Allocation.Conditions()
}

// End ends the allocation. stored says that the object was certainly stored. A second call does nothing.
func (a *Allocated) End(ctx context.Context, stored bool) {
	if a == nil || a.Allocation == nil {
		return
	}
	a.Allocation.End(context.WithoutCancel(ctx), stored) // the request may be over, but the allocator must know
	a.Allocation = nil
}
