package resource

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Typed is a strategy made of functions on the Go type of a kind, a pointer. A function that is nil does nothing.
type Typed[T runtime.Object] struct {
	// Prepare completes a new object, and clears the fields that clients cannot set.
	Prepare func(obj T)
	// Check returns the errors of a new object. See Strategy.Validate.
	Check func(obj T) field.ErrorList
	// Warn returns the warnings about a new object.
	Warn func(obj T) []string

	// PrepareUpdate restores the fields of old that an update cannot change.
	PrepareUpdate func(obj, old T)
	// CheckUpdate returns the errors of an update of old to obj.
	CheckUpdate func(obj, old T) field.ErrorList
	// WarnUpdate returns the warnings about an update of old to obj.
	WarnUpdate func(obj, old T) []string

	// CreatesOnUpdate lets an update create an object that does not exist.
	CreatesOnUpdate bool
	// RequiresVersion refuses updates without a resourceVersion.
	RequiresVersion bool
}

// PrepareForCreate calls Prepare.
func (s Typed[T]) PrepareForCreate(_ context.Context, obj runtime.Object) {
	if s.Prepare != nil {
		s.Prepare(obj.(T))
	}
}

// Validate calls Check.
func (s Typed[T]) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	if s.Check == nil {
		return nil
	}
	return declaredLast(s.Check(obj.(T)))
}

// WarningsOnCreate calls Warn.
func (s Typed[T]) WarningsOnCreate(_ context.Context, obj runtime.Object) []string {
	if s.Warn == nil {
		return nil
	}
	return s.Warn(obj.(T))
}

// PrepareForUpdate calls PrepareUpdate.
func (s Typed[T]) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	if s.PrepareUpdate != nil {
		s.PrepareUpdate(obj.(T), old.(T))
	}
}

// ValidateUpdate calls CheckUpdate.
func (s Typed[T]) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	if s.CheckUpdate == nil {
		return nil
	}
	return declaredLast(s.CheckUpdate(obj.(T), old.(T)))
}

// WarningsOnUpdate calls WarnUpdate.
func (s Typed[T]) WarningsOnUpdate(_ context.Context, obj, old runtime.Object) []string {
	if s.WarnUpdate == nil {
		return nil
	}
	return s.WarnUpdate(obj.(T), old.(T))
}

// Canonicalize does nothing.
func (s Typed[T]) Canonicalize(runtime.Object) {}

// AllowCreateOnUpdate returns CreatesOnUpdate.
func (s Typed[T]) AllowCreateOnUpdate(context.Context) bool { return s.CreatesOnUpdate }

// AllowUnconditionalUpdate returns the opposite of RequiresVersion.
func (s Typed[T]) AllowUnconditionalUpdate(context.Context) bool { return !s.RequiresVersion }
