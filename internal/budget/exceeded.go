package budget

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"
)

// Limit names a limit of requests. It is a label of a metric, so limits must be constants.
type Limit string

const (
	// InFlight is the memory of all requests that are worked on.
	InFlight Limit = "memory-in-flight"
	// Size is how large a request may be, in any respect: bytes, depth, items.
	Size Limit = "size"
)

// ExceededError is the error of a request that exceeds a limit. It is an APIStatus, so all responders answer with its
// Status, which should name the limit.
type ExceededError struct {
	Limit Limit
	*apierrors.StatusError
}

// Unwrap returns the Status error.
func (e *ExceededError) Unwrap() error { return e.StatusError }

// Report logs and counts a request that is answered with err, if it exceeds a limit: err is an ExceededError, or a
// Status 413, which is the limit Size. Responders call it once for each request.
func Report(ctx context.Context, err error) {
	limit := Size
	if own, ok := errors.AsType[*ExceededError](err); ok {
		limit = own.Limit
	} else if !apierrors.IsRequestEntityTooLargeError(err) {
		return
	}
	exceeded.WithLabelValues(string(limit)).Inc()
	klog.FromContext(ctx).V(2).Info("Request exceeds its budget", append(described(ctx), "limit", limit, "err", err)...)
}

// maxLogged is the largest number of bytes of a path or a user name in the log.
const maxLogged = 256

// described returns key-value pairs that describe the request of ctx in the log.
func described(ctx context.Context) []any {
	var pairs []any
	if info, ok := request.RequestInfoFrom(ctx); ok {
		pairs = append(pairs, "verb", info.Verb, "path", info.Path[:min(len(info.Path), maxLogged)])
	}
	if caller, ok := request.UserFrom(ctx); ok {
		name := caller.GetName()
		pairs = append(pairs, "user", name[:min(len(name), maxLogged)])
	}
	if id, ok := audit.AuditIDFrom(ctx); ok {
		pairs = append(pairs, "auditID", id)
	}
	return pairs
}

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
