package server

import (
	"context"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// TestRequestMetrics checks the metrics of requests that dashboards of kube-apiserver show.
func TestRequestMetrics(t *testing.T) {
	t.Parallel()
	s := startWhole(t)
	root := s.root()
	root.send("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "")
	wanted := []string{
		`apiserver_request_total{`,
		`apiserver_request_duration_seconds_count{`,
		`apiserver_request_sli_duration_seconds_count{`,
		`apiserver_current_inflight_requests{request_kind="readOnly"}`,
		`apiserver_current_inflight_requests{request_kind="mutating"}`,
	}
	var missing []string
	// How many requests were in flight is told once a second.
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) {
		page := root.send("GET", "/metrics", "").body
		missing = nil
		for _, series := range wanted {
			if !strings.Contains(string(page), series) {
				missing = append(missing, series)
			}
		}
		return len(missing) == 0, nil
	})
	if err != nil {
		t.Errorf("/metrics has no %q", missing)
	}
}
