package events

import (
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// asCore returns an event of either version as one of core/v1. It shares parts with its argument.
func asCore(obj runtime.Object) *corev1.Event {
	event, ok := obj.(*eventsv1.Event)
	if !ok {
		return obj.(*corev1.Event)
	}
	return &corev1.Event{
		ObjectMeta:          event.ObjectMeta,
		InvolvedObject:      event.Regarding,
		Reason:              event.Reason,
		Message:             event.Note,
		Source:              event.DeprecatedSource,
		FirstTimestamp:      event.DeprecatedFirstTimestamp,
		LastTimestamp:       event.DeprecatedLastTimestamp,
		Count:               event.DeprecatedCount,
		Type:                event.Type,
		EventTime:           event.EventTime,
		Series:              (*corev1.EventSeries)(event.Series),
		Action:              event.Action,
		Related:             event.Related,
		ReportingController: event.ReportingController,
		ReportingInstance:   event.ReportingInstance,
	}
}

// upgrade sets an event of core/v1 to one of any version of events.k8s.io.
func upgrade(old, obj runtime.Object) error {
	event, err := resource.As(old, &eventsv1.Event{})
	if err == nil {
		*obj.(*corev1.Event) = *asCore(event)
	}
	return err
}

// fromCore is the reverse of asCore.
func fromCore(event *corev1.Event) *eventsv1.Event {
	return &eventsv1.Event{
		ObjectMeta:               event.ObjectMeta,
		EventTime:                event.EventTime,
		Series:                   (*eventsv1.EventSeries)(event.Series),
		ReportingController:      event.ReportingController,
		ReportingInstance:        event.ReportingInstance,
		Action:                   event.Action,
		Reason:                   event.Reason,
		Regarding:                event.InvolvedObject,
		Related:                  event.Related,
		Note:                     event.Message,
		Type:                     event.Type,
		DeprecatedSource:         event.Source,
		DeprecatedFirstTimestamp: event.FirstTimestamp,
		DeprecatedLastTimestamp:  event.LastTimestamp,
		DeprecatedCount:          event.Count,
	}
}
