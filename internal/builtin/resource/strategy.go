package resource

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Strategy has the rules for writes of a resource or subresource. The objects are of the definition's Go type, in the
// served version. Its methods are called as those of the strategies of apiserver's generic registry.
//
// A strategy embeds Rules and adds the rules that its resource has.
type Strategy interface {
	// PrepareForCreate completes a new object, and clears the fields that clients cannot set.
	PrepareForCreate(ctx context.Context, obj runtime.Object)
	// Validate returns the errors of a new object, in kube-apiserver's order and words. Those of its metadata are among
	// them, because kinds differ in the names that they allow.
	Validate(ctx context.Context, obj runtime.Object) field.ErrorList
	WarningsOnCreate(ctx context.Context, obj runtime.Object) []string
	// PrepareForUpdate restores the fields of old that the update cannot change.
	PrepareForUpdate(ctx context.Context, obj, old runtime.Object)
	// ValidateUpdate returns the errors of an update of old to obj.
	ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList
	WarningsOnUpdate(ctx context.Context, obj, old runtime.Object) []string
	// Canonicalize changes a valid object to the form in which it is stored.
	Canonicalize(obj runtime.Object)
	// AllowCreateOnUpdate reports whether an update may create an object that does not exist.
	AllowCreateOnUpdate(ctx context.Context) bool
	// AllowUnconditionalUpdate reports whether an update may come without a resourceVersion.
	AllowUnconditionalUpdate(ctx context.Context) bool
}

// Rules is a strategy without rules.
type Rules struct{}

var _ Strategy = Rules{}

// PrepareForCreate does nothing.
func (Rules) PrepareForCreate(context.Context, runtime.Object) {}

// Validate returns no errors.
func (Rules) Validate(context.Context, runtime.Object) field.ErrorList { return nil }

// WarningsOnCreate returns no warnings.
func (Rules) WarningsOnCreate(context.Context, runtime.Object) []string { return nil }

// PrepareForUpdate does nothing.
func (Rules) PrepareForUpdate(context.Context, runtime.Object, runtime.Object) {}

// ValidateUpdate returns no errors.
func (Rules) ValidateUpdate(context.Context, runtime.Object, runtime.Object) field.ErrorList {
	return nil
}

// WarningsOnUpdate returns no warnings.
func (Rules) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string { return nil }

// Canonicalize does nothing.
func (Rules) Canonicalize(runtime.Object) {}

// AllowCreateOnUpdate returns false.
func (Rules) AllowCreateOnUpdate(context.Context) bool { return false }

// AllowUnconditionalUpdate returns true.
func (Rules) AllowUnconditionalUpdate(context.Context) bool { return true }
