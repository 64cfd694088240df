package resource

import (
	"context"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Strategy has the rules for writes of a resource or subresource. The objects are of the definition's Go type, in the
// served version. Its methods are called as those of the strategies of apiserver's generic registry.
//
// Typed is a strategy of functions on the Go type of a kind.
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

// Rules is a strategy without rules. Others embed it and add theirs.
type Rules = Typed[runtime.Object]

var _ Strategy = Rules{}

// Scale makes autoscaling/v1 Scales of the objects of a resource. The wanted number is the field spec.replicas.
type Scale struct {
	// Read returns the spec and the status of an object's Scale.
	Read func(obj runtime.Object) (autoscalingv1.ScaleSpec, autoscalingv1.ScaleStatus, error)
	// Write sets the wanted number of an object.
	Write func(obj runtime.Object, replicas int32)
}
