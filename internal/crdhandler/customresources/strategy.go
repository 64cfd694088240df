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

// NewStrategy returns the rules for writes of custom resources in one version. The first write compiles them.
func NewStrategy(cached *schemas.Cached, version string) resource.Strategy {
	return &strategy{schemas: cached, version: version}
}

// NewStatusStrategy returns the rules for writes of the status subresource: only status changes (S1, S2).
func NewStatusStrategy(cached *schemas.Cached, version string) resource.Strategy {
	return &statusStrategy{strategy{schemas: cached, version: version}}
}

type strategy struct {
	resource.Rules

	schemas *schemas.Cached
	version string
}

// rules returns the compiled version. The methods that prepare an object ignore its error; the validation that follows
// reports it.
func (s *strategy) rules() (*validation.Version, error) {
	return s.schemas.Version(s.version)
}

func (s *strategy) PrepareForCreate(_ context.Context, obj runtime.Object) {
	if rules, err := s.rules(); err == nil {
		rules.PrepareForCreate(obj.(*unstructured.Unstructured))
	}
}

func (s *strategy) Validate(ctx context.Context, obj runtime.Object) field.ErrorList {
	rules, err := s.rules()
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	return rules.ValidateCreate(ctx, obj.(*unstructured.Unstructured))
}

func (s *strategy) WarningsOnCreate(_ context.Context, obj runtime.Object) []string {
	return validation.WarningsForFinalizers(obj.(*unstructured.Unstructured), nil)
}

func (s *strategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	if rules, err := s.rules(); err == nil {
		rules.PrepareForUpdate(obj.(*unstructured.Unstructured), old.(*unstructured.Unstructured))
	}
}

func (s *strategy) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	rules, err := s.rules()
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	return rules.ValidateUpdate(ctx, obj.(*unstructured.Unstructured), old.(*unstructured.Unstructured))
}

func (s *strategy) WarningsOnUpdate(_ context.Context, obj, old runtime.Object) []string {
	return validation.WarningsForFinalizers(obj.(*unstructured.Unstructured), old.(*unstructured.Unstructured))
}

// AllowUnconditionalUpdate returns false: an update must say which state it was made for (W4).
func (s *strategy) AllowUnconditionalUpdate(context.Context) bool { return false }

type statusStrategy struct{ strategy }

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
