package server

import (
	"net/http"
	"slices"

	"k8s.io/apiserver/pkg/endpoints/metrics"
	"k8s.io/apiserver/pkg/endpoints/request"
	serverfilters "k8s.io/apiserver/pkg/server/filters"
)

// metricLabels decide what metrics tell of requests that have not been served: refused, too late or broken off. Kube-apiserver has their paths, groups
// and resources as labels. Each makes a series that stays, so that a client who asks for ever new ones takes ever more memory; and what is no UTF-8 is a panic. Here
// only what is served is a label; of other requests it is counted that there were some.
type metricLabels struct {
	// paths are those of everything that is no resource.
	paths []string
	// serves says whether a request is about a resource that there is.
	serves func(*request.RequestInfo) bool
}

// of returns what metrics may tell of a request.
func (l *metricLabels) of(info *request.RequestInfo) *request.RequestInfo {
	if info.IsResourceRequest && l.serves(info) || !info.IsResourceRequest && slices.Contains(l.paths, info.Path) {
		return info
	}
	return &request.RequestInfo{Verb: info.Verb}
}

// NewRequestInfo implements request.RequestInfoResolver, for filters that look at what they count and nothing else.
func (l *metricLabels) NewRequestInfo(req *http.Request) (*request.RequestInfo, error) {
	info, err := requestInfo.NewRequestInfo(req)
	if err != nil {
		return nil, err
	}
	return l.of(info), nil
}

// abandoning is kube-apiserver's filter that answers at the deadline and leaves what it has around it behind.
func (l *metricLabels) abandoning(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		info := infoOf(req)
		inner := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			next.ServeHTTP(w, req.WithContext(request.WithRequestInfo(req.Context(), info)))
		})
		outer := serverfilters.WithTimeoutForNonLongRunningRequests(inner, longRunning)
		outer.ServeHTTP(w, req.WithContext(request.WithRequestInfo(req.Context(), l.of(info))))
	})
}

// refused counts a request that was not served for there were too many.
func (l *metricLabels) refused(req *http.Request, info *request.RequestInfo, mutating bool) {
	info = l.of(info)
	metrics.RecordDroppedRequest(req, info, metrics.APIServerComponent, mutating)
	metrics.RecordRequestTermination(req, info, metrics.APIServerComponent, http.StatusTooManyRequests)
}

// late counts a request that was not served in time.
func (l *metricLabels) late(req *http.Request, info *request.RequestInfo) {
	metrics.RecordRequestTermination(req, l.of(info), metrics.APIServerComponent, http.StatusGatewayTimeout)
}
