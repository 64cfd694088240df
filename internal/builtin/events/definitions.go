package events

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// Core returns the definition of the events of core/v1.
func Core() *resource.Definition {
	return &resource.Definition{
		Object: &corev1.Event{}, ShortNames: []string{"ev"}, Namespaced: true,
		Strategy: legacyRules, Columns: columns, Fields: coreFields(), Expires: true,
		Upgrade: upgrade,
	}
}

// V1 returns the definition of the events of events.k8s.io/v1.
func V1() *resource.Definition {
	return &resource.Definition{
		Object: &eventsv1.Event{}, ShortNames: []string{"ev"}, Namespaced: true,
		Strategy: strictRules, Columns: columns, Fields: v1Fields(), Expires: true,
		Upgrade: upgrade,
		Storage: &resource.Storage{
			Object: &corev1.Event{},
			Encode: func(obj runtime.Object) (runtime.Object, error) { return asCore(obj), nil },
			Decode: func(obj runtime.Object) (runtime.Object, error) { return fromCore(obj.(*corev1.Event)), nil },
		},
	}
}

func coreFields() *resource.Fields {
	values := resource.Paths(&corev1.Event{}, "involvedObject.kind", "involvedObject.namespace", "involvedObject.name",
		"involvedObject.uid", "involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath",
		"reason", "reportingComponent", "type")
	values["source"] = func(obj runtime.Object) string {
		event := obj.(*corev1.Event)
		return cmp.Or(event.Source.Component, event.ReportingController)
	}
	return &resource.Fields{Values: values}
}

func v1Fields() *resource.Fields {
	return &resource.Fields{Values: resource.Paths(&eventsv1.Event{}, "reason", "regarding.kind", "regarding.namespace",
		"regarding.name", "regarding.uid", "regarding.apiVersion", "regarding.resourceVersion", "regarding.fieldPath",
		"reportingController", "type")}
}

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
