package events

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta/table"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// columns are those of both versions, described by the fields of core/v1.
var columns = &resource.Columns{Definitions: columnDefinitions(), Cells: cells}

func columnDefinitions() []metav1.TableColumnDefinition {
	fields := corev1.Event{}.SwaggerDoc()
	name := resource.NameColumn
	name.Priority = 1
	return []metav1.TableColumnDefinition{
		{Name: "Last Seen", Type: "string", Description: fields["lastTimestamp"]},
		{Name: "Type", Type: "string", Description: fields["type"]},
		{Name: "Reason", Type: "string", Description: fields["reason"]},
		{Name: "Object", Type: "string", Description: fields["involvedObject"]},
		{Name: "Subobject", Type: "string", Priority: 1, Description: corev1.ObjectReference{}.SwaggerDoc()["fieldPath"]},
		{Name: "Source", Type: "string", Priority: 1, Description: fields["source"]},
		{Name: "Message", Type: "string", Description: fields["message"]},
		{Name: "First Seen", Type: "string", Priority: 1, Description: fields["firstTimestamp"]},
		{Name: "Count", Type: "string", Priority: 1, Description: fields["count"]},
		name,
	}
}

func cells(obj runtime.Object) []any {
	event := asCore(obj)
	object := strings.ToLower(event.InvolvedObject.Kind)
	if name := event.InvolvedObject.Name; name != "" {
		object += "/" + name
	}
	source := firstOf(event.Source.Component, event.ReportingController)
	if instance := firstOf(event.Source.Host, event.ReportingInstance); instance != "" {
		source += ", " + instance
	}
	first, last, count := occurrences(event)
	return []any{
		table.ConvertToHumanReadableDateType(last), event.Type, event.Reason, object, event.InvolvedObject.FieldPath, source,
		strings.TrimSpace(event.Message), table.ConvertToHumanReadableDateType(first), int64(count), event.Name,
	}
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
