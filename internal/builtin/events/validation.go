package events

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/rules"
)

// The longest values of fields, in bytes.
const (
	maxShort = 128 // reportingInstance, action and reason
	maxNote  = 1024
)

// validateLegacy checks the rules of both versions. reporter is the name of the field with the reporting controller.
func validateLegacy(event *corev1.Event, reporter string) (errs field.ErrorList) {
	if !inNamespaceOfObject(event) {
		errs = append(errs, field.Invalid(field.NewPath("involvedObject", "namespace"), event.InvolvedObject.Namespace,
			"does not match event.namespace"))
	}
	if event.EventTime.IsZero() {
		return errs // of an old client, which knows none of the fields below
	}
	path := field.NewPath(reporter)
	return slices.Concat(
		errs,
		rules.Required(event.ReportingController, path),
		rules.QualifiedName(event.ReportingController, path),
		validateShort("reportingInstance", event.ReportingInstance),
		validateShort("action", event.Action),
		validateShort("reason", event.Reason),
		validateLength("message", event.Message, maxNote),
	)
}

// inNamespaceOfObject reports whether an event is in the namespace of the object that it is about, or in one that is
// right for an object without a namespace. Old and new clients differ in these.
func inNamespaceOfObject(event *corev1.Event) bool {
	namespace := event.InvolvedObject.Namespace
	old := event.EventTime.IsZero()
	switch {
	case namespace != "":
		return !old || event.Namespace == namespace
	case event.Namespace == metav1.NamespaceDefault:
		return true
	default:
		return old && event.Namespace == metav1.NamespaceNone || !old && event.Namespace == metav1.NamespaceSystem
	}
}

func validateShort(name, value string) field.ErrorList {
	return append(rules.Required(value, field.NewPath(name)), validateLength(name, value, maxShort)...)
}

func validateLength(name, value string, limit int) field.ErrorList {
	return rules.When(len(value) > limit,
		field.Invalid(field.NewPath(name), "", fmt.Sprintf("can have at most %d characters", limit)))
}

// validateNew checks what events.k8s.io/v1 requires of new events.
func validateNew(event *corev1.Event) field.ErrorList {
	refuse := func(isSet bool, name string) field.ErrorList {
		return rules.When(isSet, field.Invalid(field.NewPath(name), "", "needs to be unset"))
	}
	return slices.Concat(
		rules.When(event.EventTime.IsZero(), field.Required(field.NewPath("eventTime"), "")),
		rules.When(event.Type != corev1.EventTypeNormal && event.Type != corev1.EventTypeWarning,
			field.Invalid(field.NewPath("type"), "", fmt.Sprintf("has invalid value: %v", event.Type))),
		refuse(!event.FirstTimestamp.IsZero(), "firstTimestamp"),
		refuse(!event.LastTimestamp.IsZero(), "lastTimestamp"),
		refuse(event.Count != 0, "count"),
		refuse(event.Source != corev1.EventSource{}, "source"),
	)
}

func validateSeries(series *corev1.EventSeries) field.ErrorList {
	if series == nil {
		return nil
	}
	return append(
		rules.When(series.Count < 2, field.Invalid(field.NewPath("series.count"), "", "should be at least 2")),
		rules.When(series.LastObservedTime.IsZero(), field.Required(field.NewPath("series.lastObservedTime"), ""))...)
}

// validateChanges checks that old was changed only where events.k8s.io/v1 allows it.
func validateChanges(event, old *corev1.Event) (errs field.ErrorList) {
	if !reflect.DeepEqual(event.Series, old.Series) {
		errs = validateSeries(event.Series)
	}
	unchanged := func(name string, value, before any) {
		errs = append(errs, apivalidation.ValidateImmutableField(value, before, field.NewPath(name))...)
	}
	unchanged("involvedObject", reference(event.InvolvedObject), reference(old.InvolvedObject))
	unchanged("reason", event.Reason, old.Reason)
	unchanged("message", event.Message, old.Message)
	unchanged("source", source(event.Source), source(old.Source))
	unchanged("firstTimestamp", event.FirstTimestamp, old.FirstTimestamp)
	unchanged("lastTimestamp", event.LastTimestamp, old.LastTimestamp)
	unchanged("count", event.Count, old.Count)
	unchanged("type", event.Type, old.Type)
	// Clients may truncate the time to microseconds.
	if !event.EventTime.Truncate(time.Microsecond).Equal(old.EventTime.Truncate(time.Microsecond)) {
		unchanged("eventTime", event.EventTime, old.EventTime)
	}
	unchanged("action", event.Action, old.Action)
	unchanged("related", (*reference)(event.Related), (*reference)(old.Related))
	unchanged("reportingController", event.ReportingController, old.ReportingController)
	unchanged("reportingInstance", event.ReportingInstance, old.ReportingInstance)
	return errs
}

// reference and source have no JSON names, because kube-apiserver's errors print the fields of its internal types.
type (
	reference struct {
		Kind            string
		Namespace       string
		Name            string
		UID             types.UID
		APIVersion      string
		ResourceVersion string
		FieldPath       string
	}
	source struct {
		Component string
		Host      string
	}
)
