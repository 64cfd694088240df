package events

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// legacyRules are the rules of events of core/v1.
type legacyRules struct{ resource.Rules }

// Validate checks what old clients know.
func (legacyRules) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	return validateLegacy(obj.(*corev1.Event), "reportingComponent")
}

// ValidateUpdate allows every change to a valid event.
func (legacyRules) ValidateUpdate(_ context.Context, obj, _ runtime.Object) field.ErrorList {
	return validateLegacy(obj.(*corev1.Event), "reportingComponent")
}

// AllowCreateOnUpdate returns true.
func (legacyRules) AllowCreateOnUpdate(context.Context) bool { return true }

// strictRules are the rules of events of events.k8s.io/v1.
type strictRules struct{ resource.Rules }

// Validate checks that the event is complete, and has no deprecated fields.
func (strictRules) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	event := asCore(obj)
	metadata := field.NewPath("metadata")
	errs := validateLegacy(event, "reportingController")
	errs = append(errs,
		apivalidation.ValidateObjectMeta(&event.ObjectMeta, true, apivalidation.NameIsDNSSubdomain, metadata)...)
	errs = append(errs, resource.CheckFinalizers(&event.ObjectMeta)...)
	errs = append(errs, validateSeries(event.Series)...)
	return append(errs, validateNew(event)...)
}

// ValidateUpdate allows changes to the metadata and the series.
func (strictRules) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	event, before := asCore(obj), asCore(old)
	errs := validateLegacy(event, "reportingController")
	errs = append(errs,
		apivalidation.ValidateObjectMetaUpdate(&event.ObjectMeta, &before.ObjectMeta, field.NewPath("metadata"))...)
	errs = append(errs, resource.CheckFinalizers(&event.ObjectMeta)...)
	return append(errs, validateChanges(event, before)...)
}

// AllowCreateOnUpdate returns true.
func (strictRules) AllowCreateOnUpdate(context.Context) bool { return true }
