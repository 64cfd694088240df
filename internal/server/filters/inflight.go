package filters

import (
	"context"
	"net/http"
	"slices"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/metrics"
	"k8s.io/apiserver/pkg/endpoints/request"
	flowcontrolmetrics "k8s.io/apiserver/pkg/util/flowcontrol/metrics"
)

// inFlight bounds the reads and the writes that are served at the same time. Excess requests get 429. Limits are per
// user as well, so one user cannot keep others from being served.
//
// The memory of large bodies, and of the work on them, is bounded by package budget. A client that sends its body
// slowly holds slots and memory for bodies, but none for work.
//
// kube-apiserver's priority and fairness also queues requests and has levels, but costs a third of a whole GET of
// this server.
type inFlight struct {
	*Config
	reads, writes *slots
}

func newInFlight(c *Config) *inFlight {
	return &inFlight{Config: c, reads: newSlots(c.MaxInFlight), writes: newSlots(c.MaxMutatingInFlight)}
}

// limit is the filter. It needs the user of the request. Long-running requests do not count.
func (f *inFlight) limit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		info := infoOf(req)
		if longRunning(req, info) {
			next.ServeHTTP(w, req)
			return
		}
		kind, cost := f.cost(req, info)
		caller, _ := request.UserFrom(req.Context())
		name := ""
		if f.isExempt(caller, info) {
			cost = 0
		} else {
			name = caller.GetName()
		}
		if !kind.acquire(name, cost) {
			f.Labels.refused(req, info, kind == f.writes)
			w.Header().Set("Retry-After", "1") // kube-apiserver's response
			http.Error(w, "Too many requests, please try again later.", http.StatusTooManyRequests)
			return
		}
		defer kind.release(name, cost)
		next.ServeHTTP(w, req)
	})
}

// isExempt reports whether a request is never refused: as in kube-apiserver, those of system:masters and health checks.
func (f *inFlight) isExempt(caller user.Info, info *request.RequestInfo) bool {
	if !info.IsResourceRequest && info.Verb == "get" && slices.Contains(f.ProbePaths, info.Path) {
		return true
	}
	return caller == nil || slices.Contains(caller.GetGroups(), user.SystemPrivilegedGroup)
}

// report updates the metrics of requests in flight once a second, until ctx is done.
func (f *inFlight) report(ctx context.Context) {
	reading, writing := flowcontrolmetrics.GetExecutingReadonlyConcurrency(),
		flowcontrolmetrics.GetExecutingMutatingConcurrency()
	reading.SetDenominator(float64(f.reads.limit))
	writing.SetDenominator(float64(f.writes.limit))
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for {
		reads, mostReads := f.reads.count()
		writes, mostWrites := f.writes.count()
		reading.Set(float64(reads))
		writing.Set(float64(writes))
		metrics.UpdateInflightRequestMetrics(metrics.ExecutingPhase, mostReads, mostWrites)
		select {
		case <-second.C:
		case <-ctx.Done():
			return
		}
	}
}
