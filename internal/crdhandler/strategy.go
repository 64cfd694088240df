package crdhandler

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/validation"
)

// customResourceStrategy holds the rules for writes of custom resources in one version. The first write compiles them.
type customResourceStrategy struct {
	resource.Rules

	info    *crdInfo
	version string
}

var _ resource.Strategy = &customResourceStrategy{}

// rules returns the compiled version. The methods that prepare an object ignore its error; the validation that follows
// reports it.
func (s *customResourceStrategy) rules() (*validation.Version, error) {
	return s.info.version(s.version)
}

func (s *customResourceStrategy) PrepareForCreate(_ context.Context, obj runtime.Object) {
	if rules, err := s.rules(); err == nil {
		rules.PrepareForCreate(obj.(*unstructured.Unstructured))
	}
}

func (s *customResourceStrategy) Validate(ctx context.Context, obj runtime.Object) field.ErrorList {
	rules, err := s.rules()
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	return rules.ValidateCreate(ctx, obj.(*unstructured.Unstructured))
}

func (s *customResourceStrategy) WarningsOnCreate(_ context.Context, obj runtime.Object) []string {
	return validation.WarningsForFinalizers(obj.(*unstructured.Unstructured), nil)
}

func (s *customResourceStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	if rules, err := s.rules(); err == nil {
		rules.PrepareForUpdate(obj.(*unstructured.Unstructured), old.(*unstructured.Unstructured))
	}
}

func (s *customResourceStrategy) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	rules, err := s.rules()
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	return rules.ValidateUpdate(ctx, obj.(*unstructured.Unstructured), old.(*unstructured.Unstructured))
}

func (s *customResourceStrategy) WarningsOnUpdate(_ context.Context, obj, old runtime.Object) []string {
	return validation.WarningsForFinalizers(obj.(*unstructured.Unstructured), old.(*unstructured.Unstructured))
}

// AllowUnconditionalUpdate returns false: an update must say which state it was made for (W4).
func (s *customResourceStrategy) AllowUnconditionalUpdate(context.Context) bool { return false }

// statusStrategy holds the rules for writes of the status subresource: only status changes (S1, S2).
type statusStrategy struct{ customResourceStrategy }

func (s *statusStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	if rules, err := s.rules(); err == nil {
		rules.PrepareForStatusUpdate(obj.(*unstructured.Unstructured), old.(*unstructured.Unstructured))
	}
}

func (s *statusStrategy) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	rules, err := s.rules()
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	return rules.ValidateStatusUpdate(ctx, obj.(*unstructured.Unstructured), old.(*unstructured.Unstructured))
}

func (s *statusStrategy) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}
