package stored

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// TestErrorsWithoutEtcd checks that clients can tell a request that was refused from a write that may have been carried
// out, and are not told to repeat either.
func TestErrorsWithoutEtcd(t *testing.T) {
	t.Parallel()
	s := &Objects{Of: schema.GroupResource{Group: "example.com", Resource: "things"}}
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
