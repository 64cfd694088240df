package definitions

import (
	"context"
	"errors"
	"slices"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	generatedopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	upstream "k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/common"

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
	errs = append(errs, protectionErrors(crd)...)
	return append(errs, s.rules.Validate(ctx, crd)...)
}

// ValidateUpdate validates an update of a CRD. A CRD that exceeds a limit already, or has an unknown annotation of
// protection, because another server has written it, may be changed.
func (s Strategy) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	errs := limitErrors(obj.(*apiextensions.CustomResourceDefinition))
	if len(errs) > 0 && len(limitErrors(old.(*apiextensions.CustomResourceDefinition))) == 0 {
		return errs
	}
	crd, errs := withoutUnfoundedFields(obj.(*apiextensions.CustomResourceDefinition))
	if len(protectionErrors(old.(*apiextensions.CustomResourceDefinition))) == 0 {
		errs = append(errs, protectionErrors(crd)...)
	}
	return append(errs, s.rules.ValidateUpdate(ctx, crd, old)...)
}

// StatusStrategy is upstream's strategy for updates of the status of CRDs.
type StatusStrategy struct{ rules }

// statusRules is upstream's strategy for the status, which creates nothing.
var statusRules = customresourcedefinition.NewStatusStrategy(crds.Scheme)

// NewStatusStrategy returns the strategy of the status subresource.
func NewStatusStrategy() StatusStrategy {
	return StatusStrategy{customresourcedefinition.NewStrategy(crds.Scheme)}
}

// PrepareForUpdate restores everything but the status.
func (StatusStrategy) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	statusRules.PrepareForUpdate(ctx, obj, old)
}

// ValidateUpdate validates an update of the status.
func (StatusStrategy) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	errs := statusErrors(obj.(*apiextensions.CustomResourceDefinition))
	if len(errs) > 0 && len(statusErrors(old.(*apiextensions.CustomResourceDefinition))) == 0 {
		return errs
	}
	return statusRules.ValidateUpdate(ctx, obj, old)
}

// WarningsOnUpdate returns the warnings about an update of the status.
func (StatusStrategy) WarningsOnUpdate(ctx context.Context, obj, old runtime.Object) []string {
	return statusRules.WarningsOnUpdate(ctx, obj, old)
}

// GetResetFields returns the fields that a write of the status does not change.
func (StatusStrategy) GetResetFields() managedfields.ResetFields { return statusRules.GetResetFields() }

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

// MarkForDeletion changes a CRD on its first DELETE. The CRD gets the finalizer that it keeps until its instances are
// deleted, and the condition Terminating (C4). MarkForDeletion returns false for a CRD that is marked already.
func MarkForDeletion(obj runtime.Object) bool {
	crd := obj.(*apiextensions.CustomResourceDefinition)
	if !crd.DeletionTimestamp.IsZero() {
		return false
	}
	now := metav1.Now()
	crd.DeletionTimestamp = &now
	if !apiextensions.CRDHasFinalizer(crd, apiextensions.CustomResourceCleanupFinalizer) {
		crd.Finalizers = append(crd.Finalizers, apiextensions.CustomResourceCleanupFinalizer)
	}
	apiextensions.SetCRDCondition(crd, apiextensions.CustomResourceDefinitionCondition{
		Type:    apiextensions.Terminating,
		Status:  apiextensions.ConditionTrue,
		Reason:  "InstanceDeletionPending",
		Message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
	})
	return true
}

// Resource has the names and verbs of CRDs.
var Resource = resource.Definition{
	GroupVersion: apiextensionsv1.SchemeGroupVersion,
	Kind:         "CustomResourceDefinition", Plural: crds.Plural, Singular: "customresourcedefinition",
	ShortNames: []string{"crd", "crds"}, Categories: []string{"api-extensions"},
	Subresources: []resource.Subresource{{Name: "status", Verbs: []string{"get", "patch", "update"}}},
}

// LazyFieldManager returns a function that builds the field manager of CRDs on first use. It sets config.Types.
func LazyFieldManager(config managedfields.Config) func() (managedfields.Manager, error) {
	return sync.OnceValues(func() (managedfields.Manager, error) {
		var err error
		if config.Types, err = typeConverter(); err != nil {
			return nil, err
		}
		return managedfields.NewTyped(config)
	})
}

// typeConverter returns the structure of CRDs (which lists merge by which keys) from upstream's generated OpenAPI.
var typeConverter = sync.OnceValues(func() (upstream.TypeConverter, error) {
	models, err := builder3.BuildOpenAPIDefinitionsForResources(&common.OpenAPIV3Config{
		GetDefinitions:    generatedopenapi.GetOpenAPIDefinitions,
		GetDefinitionName: openapi.NewDefinitionNamer(crds.Scheme).GetDefinitionName,
	}, apiextensionsv1.CustomResourceDefinition{}.OpenAPIModelName())
	if err != nil {
		return nil, err
	}
	return upstream.NewTypeConverter(models, false)
})
