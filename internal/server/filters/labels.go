package filters

import (
	"net/http"
	"slices"

	"k8s.io/apiserver/pkg/endpoints/metrics"
	"k8s.io/apiserver/pkg/endpoints/request"
	serverfilters "k8s.io/apiserver/pkg/server/filters"
)

// MetricLabels decides which labels metrics get of requests that were refused, late or broken off. kube-apiserver
// labels them with the path, group and resource of the request. Series stay for ever, so a client that asks for ever
// new paths would take ever more memory; and a label that is not UTF-8 panics. Here a request gets these labels only
// if its path or resource is served.
//
// See docs/upstream.md, "Unbounded labels of request metrics".
type MetricLabels struct {
	// Paths are the paths that are served besides resources.
	Paths []string
	// Serves reports whether the resource of a request is served.
	Serves func(*request.RequestInfo) bool
}

// of returns the request info with the labels.
func (l *MetricLabels) of(info *request.RequestInfo) *request.RequestInfo {
	if info.IsResourceRequest && l.Serves(info) || !info.IsResourceRequest && slices.Contains(l.Paths, info.Path) {
		return info
	}
	return &request.RequestInfo{Verb: info.Verb}
}

// NewRequestInfo implements request.RequestInfoResolver, for filters that only count requests.
func (l *MetricLabels) NewRequestInfo(req *http.Request) (*request.RequestInfo, error) {
	info, err := requestInfo.NewRequestInfo(req)
	if err != nil {
		return nil, err
	}
	return l.of(info), nil
}

// abandoning is kube-apiserver's timeout filter, which counts timeouts with these labels. The handler sees the whole
// request info.
func (l *MetricLabels) abandoning(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		info := infoOf(req)
		inner := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			next.ServeHTTP(w, req.WithContext(request.WithRequestInfo(req.Context(), info)))
		})
		outer := serverfilters.WithTimeoutForNonLongRunningRequests(inner, longRunning)
		outer.ServeHTTP(w, req.WithContext(request.WithRequestInfo(req.Context(), l.of(info))))
	})
}

// refused counts a request that got 429.
func (l *MetricLabels) refused(req *http.Request, info *request.RequestInfo, mutating bool) {
	info = l.of(info)
	metrics.RecordDroppedRequest(req, info, metrics.APIServerComponent, mutating)
	metrics.RecordRequestTermination(req, info, metrics.APIServerComponent, http.StatusTooManyRequests)
}

// late counts a request that exceeded its deadline.
func (l *MetricLabels) late(req *http.Request, info *request.RequestInfo) {
	metrics.RecordRequestTermination(req, l.of(info), metrics.APIServerComponent, http.StatusGatewayTimeout)
}
