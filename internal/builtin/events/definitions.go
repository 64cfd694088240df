package events

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime"

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
