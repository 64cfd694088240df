package budget

import "k8s.io/component-base/metrics"

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

// Metrics are the metrics of all servers in the process.
var Metrics = []metrics.Registerable{exceeded, reserved, waiting}
