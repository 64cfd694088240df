package events

import (
	"cmp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta/table"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// columns are those of both versions, described by the fields of core/v1.
var columns = resource.Converted[*corev1.Event]{Convert: asCore, Columns: resource.Columns[*corev1.Event]{
	{Name: "Last Seen", Field: "lastTimestamp", Cell: func(event *corev1.Event) any {
		_, last, _ := occurrences(event)
		return table.ConvertToHumanReadableDateType(last)
	}},
	{Name: "Type", Field: "type"},
	{Name: "Reason", Field: "reason"},
	{Name: "Object", Field: "involvedObject", Cell: objectCell},
	{Name: "Subobject", Wide: true, Field: "involvedObject.fieldPath"},
	{Name: "Source", Wide: true, Field: "source", Cell: sourceCell},
	{Name: "Message", Field: "message", Cell: func(event *corev1.Event) any { return strings.TrimSpace(event.Message) }},
	{Name: "First Seen", Wide: true, Field: "firstTimestamp", Cell: func(event *corev1.Event) any {
		first, _, _ := occurrences(event)
		return table.ConvertToHumanReadableDateType(first)
	}},
	{Name: "Count", Wide: true, Field: "count", Cell: func(event *corev1.Event) any {
		_, _, count := occurrences(event)
		return int64(count)
	}},
	{Name: "Name", Wide: true},
}}

func objectCell(event *corev1.Event) any {
	object := strings.ToLower(event.InvolvedObject.Kind)
	if name := event.InvolvedObject.Name; name != "" {
		object += "/" + name
	}
	return object
}

func sourceCell(event *corev1.Event) any {
	source := cmp.Or(event.Source.Component, event.ReportingController)
	if instance := cmp.Or(event.Source.Host, event.ReportingInstance); instance != "" {
		source += ", " + instance
	}
	return source
}

// occurrences returns when an event was seen, and how often. New clients set eventTime and series, old clients
// firstTimestamp, lastTimestamp and count.
func occurrences(event *corev1.Event) (first, last metav1.Time, count int32) {
	if first = event.FirstTimestamp; first.IsZero() {
		first = metav1.Time(event.EventTime)
	}
	if last = event.LastTimestamp; last.IsZero() {
		last = first
	}
	if event.Series != nil {
		return first, metav1.Time(event.Series.LastObservedTime), event.Series.Count
	}
	if count = event.Count; count == 0 {
		count = 1
	}
	return first, last, count
}
