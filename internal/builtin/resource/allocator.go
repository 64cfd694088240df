package resource

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
)

// Allocator gives the objects of a resource what they share with others, such as addresses. It is called when mutating
// admission has changed an object, and before the object is prepared and validated.
type Allocator interface {
	// Allocate completes a new object, or an update of old: old is nil for a new object. In a dry run it takes nothing.
	// The caller ends the allocation when it knows whether the object was stored. An error answers the request.
	Allocate(ctx context.Context, obj, old runtime.Object, dryRun bool) (Allocation, error)
	// Release gives back what a removed object had.
	Release(ctx context.Context, obj runtime.Object)
}

// Allocation is what an object has got, and what it has given up. One of its methods is called, once.
type Allocation interface {
	// Commit gives back what the object has given up: the object was stored.
	Commit(ctx context.Context)
	// Revert gives back what the object has got: it was not stored.
	Revert(ctx context.Context)
}
