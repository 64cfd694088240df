package resource

import (
	"context"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Typed is a strategy made of functions on the Go type of a kind, a pointer. A function that is nil does nothing.
type Typed[T runtime.Object] struct {
	// Name, if set, checks the name of a new object. The strategy then checks all metadata before it calls a function.
	Name apivalidation.ValidateNameFunc
	// ClusterScoped says that the objects are in no namespace.
	ClusterScoped bool
	// CheckBoth returns the errors that a new object and an updated one can have. Those of Check and CheckUpdate follow.
	CheckBoth func(obj T) field.ErrorList

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

	// Canonical changes a valid object to the form in which it is stored.
	Canonical func(obj T)

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

// Validate checks the metadata, and calls CheckBoth and Check.
func (s Typed[T]) Validate(_ context.Context, obj runtime.Object) (errs field.ErrorList) {
	switch {
	case s.Name == nil:
	case s.ClusterScoped:
		errs = CheckClusterMetadata(metadataOf(obj), s.Name)
	default:
		errs = CheckMetadata(metadataOf(obj), s.Name)
	}
	if s.CheckBoth != nil {
		errs = append(errs, s.CheckBoth(obj.(T))...)
	}
	if s.Check != nil {
		errs = append(errs, s.Check(obj.(T))...)
	}
	return declaredLast(errs)
}

func metadataOf(obj runtime.Object) *metav1.ObjectMeta {
	return obj.(metav1.ObjectMetaAccessor).GetObjectMeta().(*metav1.ObjectMeta)
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

// ValidateUpdate checks the metadata, and calls CheckBoth and CheckUpdate.
func (s Typed[T]) ValidateUpdate(_ context.Context, obj, old runtime.Object) (errs field.ErrorList) {
	if s.Name != nil {
		errs = CheckMetadataUpdate(metadataOf(obj), metadataOf(old))
	}
	if s.CheckBoth != nil {
		errs = append(errs, s.CheckBoth(obj.(T))...)
	}
	if s.CheckUpdate != nil {
		errs = append(errs, s.CheckUpdate(obj.(T), old.(T))...)
	}
	return declaredLast(errs)
}

// WarningsOnUpdate calls WarnUpdate.
func (s Typed[T]) WarningsOnUpdate(_ context.Context, obj, old runtime.Object) []string {
	if s.WarnUpdate == nil {
		return nil
	}
	return s.WarnUpdate(obj.(T), old.(T))
}

// Canonicalize calls Canonical.
func (s Typed[T]) Canonicalize(obj runtime.Object) {
	if s.Canonical != nil {
		s.Canonical(obj.(T))
	}
}

// AllowCreateOnUpdate returns CreatesOnUpdate.
func (s Typed[T]) AllowCreateOnUpdate(context.Context) bool { return s.CreatesOnUpdate }

// AllowUnconditionalUpdate returns the opposite of RequiresVersion.
func (s Typed[T]) AllowUnconditionalUpdate(context.Context) bool { return !s.RequiresVersion }
