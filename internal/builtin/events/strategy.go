package events

import (
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// legacyRules are the rules of events of core/v1. They check what old clients know, and allow every change.
var legacyRules = resource.Typed[*corev1.Event]{
	Check:           func(event *corev1.Event) field.ErrorList { return validateLegacy(event, "reportingComponent") },
	CheckUpdate:     func(event, _ *corev1.Event) field.ErrorList { return validateLegacy(event, "reportingComponent") },
	CreatesOnUpdate: true,
}

// strictRules are the rules of events of events.k8s.io/v1. An event must be complete and have no deprecated fields.
// Only the metadata and the series may change.
var strictRules = resource.Typed[*eventsv1.Event]{
	Check: func(obj *eventsv1.Event) field.ErrorList {
		event := asCore(obj)
		errs := validateLegacy(event, "reportingController")
		errs = append(errs, resource.CheckMetadata(event, apivalidation.NameIsDNSSubdomain)...)
		errs = append(errs, validateSeries(event.Series)...)
		return append(errs, validateNew(event)...)
	},
	CheckUpdate: func(obj, old *eventsv1.Event) field.ErrorList {
		event, before := asCore(obj), asCore(old)
		errs := validateLegacy(event, "reportingController")
		errs = append(errs, resource.CheckMetadataUpdate(event, before)...)
		return append(errs, validateChanges(event, before)...)
	},
	CreatesOnUpdate: true,
}
