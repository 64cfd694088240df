package definitions

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/managedfields"
)

// rules are the methods of upstream's strategies.
type rules interface {
	resource.Strategy
	GetResetFields() managedfields.ResetFields
}

// Strategy is upstream's strategy for CRDs (C1-C3). It refuses CRDs that exceed a limit, before upstream's strategy
// works on them, and selectable fields of schemas that are not structural, on which upstream's panics. See
// docs/upstream.md, "Panic on selectableFields without a structural schema".
type Strategy struct{ rules }

// NewStrategy returns the strategy of the main resource.
func NewStrategy() Strategy { return Strategy{customresourcedefinition.NewStrategy(crds.Scheme)} }

// Validate validates a new CRD.
func (s Strategy) Validate(ctx context.Context, obj runtime.Object) field.ErrorList {
	if errs := limitErrors(obj.(*apiextensions.CustomResourceDefinition)); len(errs) > 0 {
		return errs
	}
	crd, errs := withoutUnfoundedFields(obj.(*apiextensions.CustomResourceDefinition))
	return append(errs, s.rules.Validate(ctx, crd)...)
}

// ValidateUpdate validates an update of a CRD. A CRD that exceeds a limit already, because another server has written
// it, may be changed.
func (s Strategy) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	errs := limitErrors(obj.(*apiextensions.CustomResourceDefinition))
	if len(errs) > 0 && len(limitErrors(old.(*apiextensions.CustomResourceDefinition))) == 0 {
		return errs
	}
	crd, errs := withoutUnfoundedFields(obj.(*apiextensions.CustomResourceDefinition))
	return append(errs, s.rules.ValidateUpdate(ctx, crd, old)...)
}

// StatusStrategy is upstream's strategy for updates of the status of CRDs.
type StatusStrategy struct {
	rules
	status updateRules
}

// updateRules are the methods of upstream's strategy for the status, which creates nothing.
type updateRules interface {
	PrepareForUpdate(ctx context.Context, obj, old runtime.Object)
	ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList
	WarningsOnUpdate(ctx context.Context, obj, old runtime.Object) []string
	GetResetFields() managedfields.ResetFields
}

// NewStatusStrategy returns the strategy of the status subresource.
func NewStatusStrategy() StatusStrategy {
	return StatusStrategy{
		rules:  customresourcedefinition.NewStrategy(crds.Scheme),
		status: customresourcedefinition.NewStatusStrategy(crds.Scheme),
	}
}

// PrepareForUpdate restores everything but the status.
func (s StatusStrategy) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	s.status.PrepareForUpdate(ctx, obj, old)
}

// ValidateUpdate validates an update of the status.
func (s StatusStrategy) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	errs := statusErrors(obj.(*apiextensions.CustomResourceDefinition))
	if len(errs) > 0 && len(statusErrors(old.(*apiextensions.CustomResourceDefinition))) == 0 {
		return errs
	}
	return s.status.ValidateUpdate(ctx, obj, old)
}

// WarningsOnUpdate returns the warnings about an update of the status.
func (s StatusStrategy) WarningsOnUpdate(ctx context.Context, obj, old runtime.Object) []string {
	return s.status.WarningsOnUpdate(ctx, obj, old)
}

// GetResetFields returns the fields that a write of the status does not change.
func (s StatusStrategy) GetResetFields() managedfields.ResetFields { return s.status.GetResetFields() }

// withoutUnfoundedFields returns crd without the selectable fields of schemas that are not structural, and an error
// with upstream's text for each such schema. It returns crd itself if there are none.
func withoutUnfoundedFields(
	crd *apiextensions.CustomResourceDefinition,
) (*apiextensions.CustomResourceDefinition, field.ErrorList) {
	errs := field.ErrorList{}
	stripped := *crd
	spec := field.NewPath("spec")
	if err := structureError(crd.Spec.SelectableFields, crd.Spec.Validation); err != nil {
		errs = append(errs, field.Invalid(spec.Child("schema.openAPIV3Schema"), "", err.Error()))
		stripped.Spec.SelectableFields = nil
	}
	stripped.Spec.Versions = slices.Clone(crd.Spec.Versions)
	for i, version := range crd.Spec.Versions {
		if err := structureError(version.SelectableFields, version.Schema); err != nil {
			errs = append(errs, field.Invalid(spec.Child("versions").Index(i).Child("schema.openAPIV3Schema"), "", err.Error()))
			stripped.Spec.Versions[i].SelectableFields = nil
		}
	}
	if len(errs) == 0 {
		return crd, nil
	}
	return &stripped, errs
}

// structureError returns why fields cannot be looked up in a schema. It returns nil if there are no fields or no
// schema.
func structureError(fields []apiextensions.SelectableField, schema *apiextensions.CustomResourceValidation) error {
	if len(fields) == 0 || schema == nil {
		return nil
	}
	if schema.OpenAPIV3Schema == nil {
		return errNoSchema
	}
	_, err := structuralschema.NewStructural(schema.OpenAPIV3Schema)
	return err
}

var errNoSchema = errors.New("is needed for selectableFields")
