package budget

import (
	"sync"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

var (
	exceeded = metrics.NewCounterVec(&metrics.CounterOpts{
		Name: "crd_server_request_budget_exceeded_total", Help: "Requests that were refused because they exceed a limit.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"limit"})
	reserved = metrics.NewGauge(&metrics.GaugeOpts{
		Name: "crd_server_request_memory_reserved_bytes", Help: "Memory that large requests have reserved.",
		StabilityLevel: metrics.ALPHA,
	})
	waiting = metrics.NewGauge(&metrics.GaugeOpts{
		Name: "crd_server_request_memory_waiting", Help: "Large requests that wait for memory.",
		StabilityLevel: metrics.ALPHA,
	})
)

// RegisterMetrics registers the metrics. Further calls have no effect.
var RegisterMetrics = sync.OnceFunc(func() { legacyregistry.MustRegister(exceeded, reserved, waiting) })
