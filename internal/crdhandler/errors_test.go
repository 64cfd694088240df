package crdhandler

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/crdhandler/stored"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// TestErrorsWithoutEtcd checks that clients can tell a request that was refused from a write that may have been carried
// out, and are not told to repeat either.
func TestErrorsWithoutEtcd(t *testing.T) {
	t.Parallel()
	s := &stored.Objects{Of: schema.GroupResource{Group: "example.com", Resource: "things"}}
	refused := fmt.Errorf("reading: %w: no answer", dynamicstorage.ErrUnavailable)
	doubtful := fmt.Errorf("%w: %w", refused, dynamicstorage.ErrUnconfirmed)
	for name, test := range map[string]struct {
		err    error
		code   int32
		reason metav1.StatusReason
	}{
		"list":            {s.ListError(refused), http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable},
		"object":          {s.APIError(refused, "x"), http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable},
		"write under way": {s.APIError(doubtful, "x"), http.StatusGatewayTimeout, metav1.StatusReasonTimeout},
	} {
		status := apierrors.APIStatus(nil)
		if !errors.As(test.err, &status) {
			t.Errorf("%s: %v", name, test.err)
			continue
		}
		got := status.Status()
		if got.Code != test.code || got.Reason != test.reason || got.Details != nil && got.Details.RetryAfterSeconds != 0 ||
			!strings.Contains(got.Message, "etcd is unavailable") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestReportedErrors checks that an endpoint of a built-in resource reports equal errors once, in order.
func TestReportedErrors(t *testing.T) {
	t.Parallel()
	a, b := field.Required(field.NewPath("a"), ""), field.Required(field.NewPath("b"), "")
	errs := field.ErrorList{b, a, field.Required(field.NewPath("a"), ""), b}
	if got := (&requestScope{}).reported(slices.Clone(errs)); len(got) != len(errs) {
		t.Errorf("reported %v, want all of %v", got, errs)
	}
	got := (&requestScope{uniqueErrors: true}).reported(errs)
	if len(got) != 2 || got[0] != b || got[1] != a {
		t.Errorf("reported %v, want %v and %v", got, b, a)
	}
}
