package metrics

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

// Handler returns the handler of /metrics. resets lets DELETE reset the metrics, as with kube-apiserver. embedded has
// the metrics of an etcd in this process; it may be nil.
func Handler(resets bool, embedded prometheus.Gatherer) http.Handler {
	registered := legacyregistry.Handler()
	if resets {
		registered = legacyregistry.HandlerWithReset()
	}
	if embedded == nil {
		return registered
	}
	both := metrics.HandlerFor(prometheus.Gatherers{legacyregistry.DefaultGatherer, embedded}, metrics.HandlerOpts{})
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodDelete {
			registered.ServeHTTP(w, req)
			return
		}
		both.ServeHTTP(w, req)
	})
}
