package events

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// Core returns the definition of the events of core/v1.
func Core() *resource.Definition {
	return &resource.Definition{
		GroupVersion: corev1.SchemeGroupVersion, Kind: "Event", Plural: "events", Singular: "event",
		ShortNames: []string{"ev"}, Namespaced: true,
		Object: &corev1.Event{}, List: &corev1.EventList{},
		Strategy: legacyRules{}, Columns: columns, Fields: &coreFields, Expires: true,
		Upgrade: upgrade,
	}
}

// V1 returns the definition of the events of events.k8s.io/v1.
func V1() *resource.Definition {
	return &resource.Definition{
		GroupVersion: eventsv1.SchemeGroupVersion, Kind: "Event", Plural: "events", Singular: "event",
		ShortNames: []string{"ev"}, Namespaced: true,
		Object: &eventsv1.Event{}, List: &eventsv1.EventList{},
		Strategy: strictRules{}, Columns: columns, Fields: &v1Fields, Expires: true,
		Upgrade: upgrade,
		Storage: &resource.Storage{
			GroupVersion: corev1.SchemeGroupVersion, Kind: "Event", Object: &corev1.Event{},
			Encode: func(obj runtime.Object) (runtime.Object, error) { return asCore(obj), nil },
			Decode: func(obj runtime.Object) (runtime.Object, error) { return fromCore(obj.(*corev1.Event)), nil },
		},
	}
}

var coreFields = resource.Fields{
	Names: []string{
		"involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
		"involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath",
		"reason", "reportingComponent", "source", "type",
	},
	Values: func(obj runtime.Object) map[string]string {
		event := obj.(*corev1.Event)
		values := referenceFields("involvedObject", &event.InvolvedObject)
		values["reason"] = event.Reason
		values["reportingComponent"] = event.ReportingController
		values["source"] = cmp.Or(event.Source.Component, event.ReportingController)
		values["type"] = event.Type
		return values
	},
	Error: unsupportedField,
}

var v1Fields = resource.Fields{
	Names: []string{
		"reason", "regarding.kind", "regarding.namespace", "regarding.name", "regarding.uid", "regarding.apiVersion",
		"regarding.resourceVersion", "regarding.fieldPath", "reportingController", "type",
	},
	Values: func(obj runtime.Object) map[string]string {
		event := obj.(*eventsv1.Event)
		values := referenceFields("regarding", &event.Regarding)
		values["reason"] = event.Reason
		values["reportingController"] = event.ReportingController
		values["type"] = event.Type
		return values
	},
	Error: unsupportedField,
}

func referenceFields(path string, to *corev1.ObjectReference) map[string]string {
	return map[string]string{
		path + ".kind":            to.Kind,
		path + ".namespace":       to.Namespace,
		path + ".name":            to.Name,
		path + ".uid":             string(to.UID),
		path + ".apiVersion":      to.APIVersion,
		path + ".resourceVersion": to.ResourceVersion,
		path + ".fieldPath":       to.FieldPath,
	}
}

func unsupportedField(name string) error {
	return fmt.Errorf("field label not supported: %s", name)
}
