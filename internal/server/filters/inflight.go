package server

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

// inFlight bounds how much is served at one time, reads and writes apart. What is too much is refused with 429, and users are told
// apart: one who asks for more than there is does not keep others from being served.
//
// kube-apiserver's priority and fairness does more (queues, levels), and takes a third of the time that a GET takes here.
type inFlight struct {
	reads, writes *seats
	labels        *metricLabels
	// size tells how much a list of everything has to go through.
	size sizes
}

func newInFlight(o *RequestOptions, size sizes, l *metricLabels) *inFlight {
	return &inFlight{reads: newSeats(o.MaxInFlight), writes: newSeats(o.MaxMutatingInFlight), size: size, labels: l}
}

// limit is the filter. It wants to know whose request it is. Watches and the like do not count.
func (f *inFlight) limit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		info := infoOf(req)
		if longRunning(req, info) {
			next.ServeHTTP(w, req)
			return
		}
		kind, width := f.ask(req, info)
		who, _ := request.UserFrom(req.Context())
		if neverRefused(who, info) {
			kind.enter()
			defer kind.leave()
			next.ServeHTTP(w, req)
			return
		}
		if !kind.take(who.GetName(), width) {
			f.labels.refused(req, info, kind == f.writes)
			refuse(w)
			return
		}
		defer kind.giveBack(who.GetName(), width)
		next.ServeHTTP(w, req)
	})
}

// neverRefused are those whom kube-apiserver never refuses either: who may do everything, and probes.
func neverRefused(who user.Info, info *request.RequestInfo) bool {
	if !info.IsResourceRequest && info.Verb == "get" && slices.Contains(healthPaths, info.Path) {
		return true
	}
	return who == nil || slices.Contains(who.GetGroups(), user.SystemPrivilegedGroup)
}

// refuse answers as kube-apiserver does.
func refuse(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, "Too many requests, please try again later.", http.StatusTooManyRequests)
}

// report has metrics tell once a second how much is in flight, until the context ends.
func (f *inFlight) report(ctx context.Context) {
	reading, writing := flowcontrolmetrics.GetExecutingReadonlyConcurrency(), flowcontrolmetrics.GetExecutingMutatingConcurrency()
	reading.SetDenominator(float64(f.reads.limit))
	writing.SetDenominator(float64(f.writes.limit))
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for {
		reads, mostReads := f.reads.tell()
		writes, mostWrites := f.writes.tell()
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
