package events

import (
	"maps"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// completeEvent returns an event with all fields.
func completeEvent() *eventsv1.Event {
	e := newEvent()
	e.Regarding = corev1.ObjectReference{
		Kind: "Pod", Name: "p", Namespace: "a", UID: "u", APIVersion: "v1", ResourceVersion: "7", FieldPath: "spec",
	}
	e.Related = &corev1.ObjectReference{Name: "r"}
	e.Series = &eventsv1.EventSeries{Count: 4, LastObservedTime: metav1.NewMicroTime(occurred)}
	e.DeprecatedSource = corev1.EventSource{Component: "c", Host: "h"}
	e.DeprecatedFirstTimestamp = metav1.NewTime(occurred)
	e.DeprecatedLastTimestamp = metav1.NewTime(occurred.Add(time.Second))
	e.DeprecatedCount = 3
	return e
}

// TestConversion checks that no field is lost on the way from one version to the other and back.
func TestConversion(t *testing.T) {
	t.Parallel()
	event, storage := completeEvent(), V1().Storage
	stored, err := storage.Encode(event)
	if err != nil {
		t.Fatal(err)
	}
	for _, obj := range []runtime.Object{event, stored} {
		fields := reflect.ValueOf(obj).Elem()
		for n := range fields.NumField() {
			if name := fields.Type().Field(n).Name; fields.Field(n).IsZero() && name != "TypeMeta" {
				t.Errorf("%T.%s is empty", obj, name)
			}
		}
	}
	served, err := storage.Decode(stored)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(event, served); diff != "" {
		t.Errorf("-event +converted:\n%s", diff)
	}
}

func TestFields(t *testing.T) {
	t.Parallel()
	common := map[string]string{"reason": "R", "type": "Normal"}
	regarding := map[string]string{
		"kind": "Pod", "name": "p", "namespace": "a", "uid": "u", "apiVersion": "v1", "resourceVersion": "7",
		"fieldPath": "spec",
	}
	for _, test := range []struct {
		definition *resource.Definition
		obj        runtime.Object
		path       string
		own        map[string]string
		foreign    string
	}{
		{
			Core(), asCore(completeEvent()), "involvedObject",
			map[string]string{"source": "c", "reportingComponent": "ctl.io/x"}, "reportingController",
		},
		{Core(), asCore(newEvent()), "", map[string]string{"source": "ctl.io/x"}, "note"},
		{V1(), completeEvent(), "regarding", map[string]string{"reportingController": "ctl.io/x"}, "source"},
	} {
		values := test.definition.Fields.Of(test.obj)
		wanted := maps.Clone(test.own)
		maps.Copy(wanted, common)
		if test.path != "" {
			for name, value := range regarding {
				wanted[test.path+"."+name] = value
			}
		}
		for name, value := range wanted {
			if values[name] != value {
				t.Errorf("%s is %q, not %q", name, values[name], value)
			}
		}
		if _, _, err := test.definition.ConvertField(test.foreign, ""); err == nil ||
			err.Error() != "field label not supported: "+test.foreign {
			t.Errorf("the error for %s is %v", test.foreign, err)
		}
	}
}

// TestColumns prints events that occurred long ago, so that their age has no fraction.
func TestColumns(t *testing.T) {
	t.Parallel()
	ago := func(d time.Duration) metav1.Time { return metav1.NewTime(time.Now().Add(-d)) }
	const day = 24 * time.Hour
	for name, test := range map[string]struct {
		event  func(*corev1.Event)
		wanted []any
	}{
		"old": {
			func(e *corev1.Event) { e.FirstTimestamp, e.LastTimestamp = ago(20*day), ago(10*day) },
			[]any{"10d", "Weird", "R", "pod/p", "", "c, h", "m", "20d", int64(3), "old"},
		},
		"old, once": {
			func(e *corev1.Event) {
				e.FirstTimestamp, e.Count, e.InvolvedObject.Name, e.InvolvedObject.FieldPath = ago(20*day), 0, "", "f"
			},
			[]any{"20d", "Weird", "R", "pod", "f", "c, h", "m", "20d", int64(1), "old"},
		},
		"new": {
			func(e *corev1.Event) { *e = *asCore(newEvent()); e.EventTime = metav1.MicroTime(ago(30 * day)) },
			[]any{"30d", "Normal", "R", "pod/p", "", "ctl.io/x, i", "n", "30d", int64(1), "new"},
		},
		"series": {
			func(e *corev1.Event) {
				*e = *asCore(newEvent())
				e.EventTime, e.ReportingInstance = metav1.MicroTime(ago(30*day)), ""
				e.Series = &corev1.EventSeries{Count: 9, LastObservedTime: metav1.MicroTime(ago(10 * day))}
			},
			[]any{"10d", "Normal", "R", "pod/p", "", "ctl.io/x", "n", "30d", int64(9), "new"},
		},
		"without a time": {
			func(e *corev1.Event) { e.FirstTimestamp = metav1.Time{} },
			[]any{"<unknown>", "Weird", "R", "pod/p", "", "c, h", "m", "<unknown>", int64(3), "old"},
		},
	} {
		event := oldEvent()
		test.event(event)
		for _, obj := range []runtime.Object{event, fromCore(event)} {
			table, err := V1().Printer().ConvertToTable(t.Context(), obj, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.wanted, table.Rows[0].Cells); diff != "" {
				t.Errorf("%s, %T (-wanted +printed):\n%s", name, obj, diff)
			}
		}
	}
}
