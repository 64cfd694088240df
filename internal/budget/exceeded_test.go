package budget

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
)

// TestReport checks which errors are reported, and that the responders' Status is that of the error.
func TestReport(t *testing.T) {
	metrics.NewKubeRegistry().MustRegister(Metrics...)
	tooLarge := apierrors.NewRequestEntityTooLargeError("objects have at most 10 levels")
	for _, test := range []struct {
		err   error
		limit Limit
		times float64
	}{
		{tooLarge, Size, 1},
		{fmt.Errorf("decoding: %w", tooLarge), Size, 1},
		{&ExceededError{InFlight, tooLarge}, InFlight, 1},
		{fmt.Errorf("decoding: %w", &ExceededError{InFlight, tooLarge}), InFlight, 1},
		{apierrors.NewBadRequest("no object"), Size, 0},
		{errors.New("something else"), Size, 0},
	} {
		before := counted(t, test.limit)
		ctx, r := begun(t.Context(), NewGovernor(1), strings.Repeat("long", maxLogged))
		Report(ctx, test.err)
		r.End()
		if times := counted(t, test.limit) - before; times != test.times {
			t.Errorf("%v is counted %v times", test.err, times)
		}
	}
	status := responsewriters.ErrorToAPIStatus(&ExceededError{InFlight, tooLarge})
	if status.Code != http.StatusRequestEntityTooLarge || !strings.Contains(status.Message, "at most 10 levels") {
		t.Errorf("the answer is %+v", status)
	}
}

func counted(t *testing.T, limit Limit) float64 {
	t.Helper()
	requests, err := testutil.GetCounterMetricValue(exceeded.WithLabelValues(string(limit)))
	if err != nil {
		t.Fatal(err)
	}
	return requests
}
