package events

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The messages in these tests were recorded from kube-apiserver.

const (
	notQualified = `name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an ` +
		`alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is ` +
		`'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`
	wrongObject = `involvedObject.namespace: Invalid value: "": does not match event.namespace`
)

var occurred = time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)

// oldEvent returns an event as old clients send it to core/v1.
func oldEvent() *corev1.Event {
	return &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Name: "old", Namespace: "a"},
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: "p", Namespace: "a"},
		Reason:         "R", Message: " m ", Type: "Weird", Count: 3,
		Source:         corev1.EventSource{Component: "c", Host: "h"},
		FirstTimestamp: metav1.NewTime(occurred),
	}
}

// newEvent returns an event as new clients send it to events.k8s.io/v1.
func newEvent() *eventsv1.Event {
	return &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: "new", Namespace: "a"},
		EventTime:  metav1.NewMicroTime(occurred), Type: "Normal", Reason: "R", Note: "n", Action: "A",
		Regarding:           corev1.ObjectReference{Kind: "Pod", Name: "p", Namespace: "a"},
		ReportingController: "ctl.io/x", ReportingInstance: "i",
	}
}

func tooLong(e *eventsv1.Event) {
	e.ReportingController, e.ReportingInstance = "bad name", strings.Repeat("i", 129)
	e.Action, e.Reason, e.Note = strings.Repeat("a", 129), strings.Repeat("r", 129), strings.Repeat("n", 1025)
}

func incomplete(e *eventsv1.Event) {
	e.ReportingController, e.ReportingInstance, e.Action, e.Reason = "", "", "", ""
}

const (
	tooLongErrors = `Invalid value: "bad name": ` + notQualified +
		`, reportingInstance: Invalid value: "": can have at most 128 characters, action: Invalid value: "": can have at ` +
		`most 128 characters, reason: Invalid value: "": can have at most 128 characters, message: Invalid value: "": can ` +
		`have at most 1024 characters`
	missingErrors = `, reportingInstance: Required value, action: Required value, reason: Required value`
	noReporter    = `: Invalid value: "": name part must be non-empty, `
)

func TestValidateCore(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		old    func(*corev1.Event)
		new    func(*eventsv1.Event)
		wanted string
	}{
		"old":                 {old: func(*corev1.Event) {}},
		"without namespace":   {old: func(e *corev1.Event) { e.InvolvedObject.Namespace = "" }, wanted: wrongObject},
		"without, in default": {old: func(e *corev1.Event) { e.InvolvedObject.Namespace, e.Namespace = "", "default" }},
		"without, in kube-system": {
			old:    func(e *corev1.Event) { e.InvolvedObject.Namespace, e.Namespace = "", "kube-system" },
			wanted: wrongObject,
		},
		"other namespace": {
			old:    func(e *corev1.Event) { e.InvolvedObject.Namespace = "b" },
			wanted: `involvedObject.namespace: Invalid value: "b": does not match event.namespace`,
		},
		"any name":               {old: func(e *corev1.Event) { e.Name = "Up_per" }},
		"new":                    {new: func(*eventsv1.Event) {}},
		"new, without namespace": {new: func(e *eventsv1.Event) { e.Regarding.Namespace = "" }, wanted: wrongObject},
		"new, without, in kube-system": {new: func(
			e *eventsv1.Event) {
			e.Regarding.Namespace, e.Namespace = "", "kube-system"
		}},
		"new, other namespace": {new: func(e *eventsv1.Event) { e.Regarding.Namespace = "b" }},
		"new, series":          {new: func(e *eventsv1.Event) { e.Series = &eventsv1.EventSeries{Count: 1} }},
		"new, incomplete": {
			new: incomplete,
			wanted: "[reportingComponent: Required value, reportingComponent" + noReporter +
				`reportingComponent: Invalid value: "": ` + notQualified + missingErrors + "]",
		},
		"new, too long": {new: tooLong, wanted: "[reportingComponent: " + tooLongErrors + "]"},
	} {
		event := oldEvent()
		if test.old != nil {
			test.old(event)
		} else {
			e := newEvent()
			test.new(e)
			event = asCore(e)
		}
		rules := Core().Strategy
		expect(t, name, rules.Validate(t.Context(), event).ToAggregate(), test.wanted)
		expect(t, name+", update", rules.ValidateUpdate(t.Context(), event, oldEvent()).ToAggregate(), test.wanted)
	}
}

func TestValidateV1(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*eventsv1.Event)
		wanted string
	}{
		"valid":               {func(*eventsv1.Event) {}, ""},
		"without namespace":   {func(e *eventsv1.Event) { e.Regarding.Namespace = "" }, wrongObject},
		"qualified finalizer": {func(e *eventsv1.Event) { e.Finalizers = []string{"x/y", "orphan"} }, ""},
		"complete series": {func(e *eventsv1.Event) {
			e.Series = &eventsv1.EventSeries{Count: 2, LastObservedTime: e.EventTime}
		}, ""},
		"without a time": {func(e *eventsv1.Event) { e.EventTime = metav1.MicroTime{} }, "eventTime: Required value"},
		"unknown type":   {func(e *eventsv1.Event) { e.Type = "X" }, `type: Invalid value: "": has invalid value: X`},
		"too long":       {tooLong, "[reportingController: " + tooLongErrors + "]"},
		"unqualified finalizer": {
			func(e *eventsv1.Event) { e.Finalizers = []string{"x"} },
			`metadata.finalizers[0]: Invalid value: "x": name is neither a standard finalizer name nor is it fully qualified`,
		},
		"empty": {
			func(e *eventsv1.Event) { *e = eventsv1.Event{ObjectMeta: e.ObjectMeta} },
			"[" + wrongObject + `, eventTime: Required value, type: Invalid value: "": has invalid value: ]`,
		},
		"incomplete": {
			incomplete,
			"[reportingController: Required value, reportingController" + noReporter +
				`reportingController: Invalid value: "": ` + notQualified + missingErrors + "]",
		},
		"incomplete series": {
			func(e *eventsv1.Event) { e.Series = &eventsv1.EventSeries{Count: 1} },
			`[series.count: Invalid value: "": should be at least 2, series.lastObservedTime: Required value]`,
		},
		"deprecated": {
			func(e *eventsv1.Event) {
				e.DeprecatedCount, e.DeprecatedSource.Host = 1, "h"
				e.DeprecatedFirstTimestamp, e.DeprecatedLastTimestamp = metav1.NewTime(occurred), metav1.NewTime(occurred)
			},
			`[firstTimestamp: Invalid value: "": needs to be unset, lastTimestamp: Invalid value: "": needs to be unset, ` +
				`count: Invalid value: "": needs to be unset, source: Invalid value: "": needs to be unset]`,
		},
		"name": {
			func(e *eventsv1.Event) { e.Name = "Up_per" },
			`metadata.name: Invalid value: "Up_per": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric ` +
				`characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used ` +
				`for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
		},
	} {
		event := newEvent()
		test.change(event)
		expect(t, name, V1().Strategy.Validate(t.Context(), event).ToAggregate(), test.wanted)
	}
}

func TestValidateUpdateV1(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*eventsv1.Event)
		wanted string
	}{
		"nothing":     {func(*eventsv1.Event) {}, ""},
		"labels":      {func(e *eventsv1.Event) { e.Labels = map[string]string{"a": "b"} }, ""},
		"nanoseconds": {func(e *eventsv1.Event) { e.EventTime.Time = e.EventTime.Add(3) }, ""},
		"series": {func(e *eventsv1.Event) {
			e.Series = &eventsv1.EventSeries{Count: 2, LastObservedTime: e.EventTime}
		}, ""},
		"incomplete series": {
			func(e *eventsv1.Event) { e.Series = &eventsv1.EventSeries{Count: 1} },
			`[series.count: Invalid value: "": should be at least 2, series.lastObservedTime: Required value]`,
		},
		"unqualified finalizer": {
			func(e *eventsv1.Event) { e.Finalizers = []string{"x"} },
			`metadata.finalizers[0]: Invalid value: "x": name is neither a standard finalizer name nor is it fully qualified`,
		},
		"everything": {
			func(e *eventsv1.Event) {
				*e = eventsv1.Event{
					ObjectMeta: e.ObjectMeta, EventTime: metav1.NewMicroTime(occurred.Add(time.Second)),
					Type: "Warning", Reason: "S", Note: "N", Action: "B",
					Regarding:           corev1.ObjectReference{Kind: "Pod", Name: "q", Namespace: "a"},
					Related:             &corev1.ObjectReference{Kind: "x", Name: "y"},
					ReportingController: "z", ReportingInstance: "j",
					DeprecatedSource: corev1.EventSource{Host: "h"}, DeprecatedCount: 1,
					DeprecatedFirstTimestamp: metav1.NewTime(occurred), DeprecatedLastTimestamp: metav1.NewTime(occurred),
				}
			},
			`[involvedObject: Invalid value: {"Kind":"Pod","Namespace":"a","Name":"q","UID":"","APIVersion":"",` +
				`"ResourceVersion":"","FieldPath":""}: field is immutable, reason: Invalid value: "S": field is immutable, ` +
				`message: Invalid value: "N": field is immutable, source: Invalid value: {"Component":"","Host":"h"}: field is ` +
				`immutable, firstTimestamp: Invalid value: "2026-01-02T03:04:05Z": field is immutable, lastTimestamp: Invalid ` +
				`value: "2026-01-02T03:04:05Z": field is immutable, count: Invalid value: 1: field is immutable, type: Invalid ` +
				`value: "Warning": field is immutable, eventTime: Invalid value: "2026-01-02T03:04:06.000006Z": field is ` +
				`immutable, action: Invalid value: "B": field is immutable, related: Invalid value: {"Kind":"x","Namespace":"",` +
				`"Name":"y",` +
				`"UID":"","APIVersion":"","ResourceVersion":"","FieldPath":""}: field is immutable, reportingController: ` +
				`Invalid value: "z": field is immutable, reportingInstance: Invalid value: "j": field is immutable]`,
		},
	} {
		old := newEvent()
		old.ResourceVersion = "1"
		event := old.DeepCopy()
		test.change(event)
		expect(t, name, V1().Strategy.ValidateUpdate(t.Context(), event, old).ToAggregate(), test.wanted)
	}
}

func expect(t *testing.T, name string, err error, wanted string) {
	t.Helper()
	found := ""
	if err != nil {
		found = err.Error()
	}
	if found != wanted {
		t.Errorf("%s:\n%s\ninstead of\n%s", name, found, wanted)
	}
}
