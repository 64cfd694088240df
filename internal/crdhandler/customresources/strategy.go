package customresources

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/crdhandler/schemas"
	"github.com/crd-server/crd-server/internal/validation"
)

// Strategy holds the rules for writes of custom resources in one version. The first write compiles them.
type Strategy struct {
	resource.Rules

	Schemas *schemas.Cached
	Version string
}

var _ resource.Strategy = &Strategy{}

// rules returns the compiled version. The methods that prepare an object ignore its error; the validation that follows
// reports it.
func (s *Strategy) rules() (*validation.Version, error) {
	return s.Schemas.Version(s.Version)
}

// PrepareForCreate implements resource.Strategy.
func (s *Strategy) PrepareForCreate(_ context.Context, obj runtime.Object) {
	if rules, err := s.rules(); err == nil {
		rules.PrepareForCreate(obj.(*unstructured.Unstructured))
	}
}

// Validate implements resource.Strategy.
func (s *Strategy) Validate(ctx context.Context, obj runtime.Object) field.ErrorList {
	rules, err := s.rules()
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	return rules.ValidateCreate(ctx, obj.(*unstructured.Unstructured))
}

// WarningsOnCreate implements resource.Strategy.
func (s *Strategy) WarningsOnCreate(_ context.Context, obj runtime.Object) []string {
	return validation.WarningsForFinalizers(obj.(*unstructured.Unstructured), nil)
}

// PrepareForUpdate implements resource.Strategy.
func (s *Strategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	if rules, err := s.rules(); err == nil {
		rules.PrepareForUpdate(obj.(*unstructured.Unstructured), old.(*unstructured.Unstructured))
	}
}

// ValidateUpdate implements resource.Strategy.
func (s *Strategy) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	rules, err := s.rules()
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	return rules.ValidateUpdate(ctx, obj.(*unstructured.Unstructured), old.(*unstructured.Unstructured))
}

// WarningsOnUpdate implements resource.Strategy.
func (s *Strategy) WarningsOnUpdate(_ context.Context, obj, old runtime.Object) []string {
	return validation.WarningsForFinalizers(obj.(*unstructured.Unstructured), old.(*unstructured.Unstructured))
}

// AllowUnconditionalUpdate returns false: an update must say which state it was made for (W4).
func (s *Strategy) AllowUnconditionalUpdate(context.Context) bool { return false }

// StatusStrategy holds the rules for writes of the status subresource: only status changes (S1, S2).
type StatusStrategy struct{ Strategy }

// PrepareForUpdate implements resource.Strategy.
func (s *StatusStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	if rules, err := s.rules(); err == nil {
		rules.PrepareForStatusUpdate(obj.(*unstructured.Unstructured), old.(*unstructured.Unstructured))
	}
}

// ValidateUpdate implements resource.Strategy.
func (s *StatusStrategy) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	rules, err := s.rules()
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	return rules.ValidateStatusUpdate(ctx, obj.(*unstructured.Unstructured), old.(*unstructured.Unstructured))
}

// WarningsOnUpdate implements resource.Strategy.
func (s *StatusStrategy) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}
