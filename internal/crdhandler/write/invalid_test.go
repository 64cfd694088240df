package write

import (
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// TestReportedErrors checks that an endpoint of a built-in resource reports equal errors once, in order.
func TestReportedErrors(t *testing.T) {
	t.Parallel()
	a, b := field.Required(field.NewPath("a"), ""), field.Required(field.NewPath("b"), "")
	errs := field.ErrorList{b, a, field.Required(field.NewPath("a"), ""), b}
	if got := new(Endpoint).reported(slices.Clone(errs)); len(got) != len(errs) {
		t.Errorf("reported %v, want all of %v", got, errs)
	}
	got := (&Endpoint{UniqueErrors: true}).reported(errs)
	if len(got) != 2 || got[0] != b || got[1] != a {
		t.Errorf("reported %v, want %v and %v", got, b, a)
	}
}

// TestLargeErrors checks that errors that contain the whole object each do not multiply it.
func TestLargeErrors(t *testing.T) {
	t.Parallel()
	var errs field.ErrorList
	for range 500 {
		errs = append(errs, field.Invalid(field.NewPath("a"), strings.Repeat("x", 100_000), "wrong"))
	}
	err := invalidObject(schema.GroupKind{Kind: "Thing"}, "a", errs)
	status := err.(apierrors.APIStatus).Status()
	if n := len(status.Details.Causes); n != 12 || len(status.Message) > 2<<20 ||
		!strings.Contains(status.Message, "there are more errors") {
		t.Errorf("%d causes, message of %d bytes", n, len(status.Message))
	}
	err = invalidObject(schema.GroupKind{Kind: "Thing"}, "a", errs[:1])
	if n := len(err.(apierrors.APIStatus).Status().Details.Causes); n != 1 {
		t.Errorf("%d causes", n)
	}
}
