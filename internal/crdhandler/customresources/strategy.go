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
	return &strategy{schemas: cached, version: version, statusOnly: true}
}

type strategy struct {
	resource.Rules

	schemas    *schemas.Cached
	version    string
	statusOnly bool
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
	rules, err := s.rules()
	if err != nil {
		return
	}
	prepare := rules.PrepareForUpdate
	if s.statusOnly {
		prepare = rules.PrepareForStatusUpdate
	}
	prepare(obj.(*unstructured.Unstructured), old.(*unstructured.Unstructured))
}

func (s *strategy) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	rules, err := s.rules()
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	validate := rules.ValidateUpdate
	if s.statusOnly {
		validate = rules.ValidateStatusUpdate
	}
	return validate(ctx, obj.(*unstructured.Unstructured), old.(*unstructured.Unstructured))
}

func (s *strategy) WarningsOnUpdate(_ context.Context, obj, old runtime.Object) []string {
	if s.statusOnly {
		return nil
	}
	return validation.WarningsForFinalizers(obj.(*unstructured.Unstructured), old.(*unstructured.Unstructured))
}

// AllowUnconditionalUpdate returns false: an update must say which state it was made for (W4).
func (s *strategy) AllowUnconditionalUpdate(context.Context) bool { return false }
