package metrics

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

// Handler returns the handler of /metrics: the metrics of the process, and others. resets lets DELETE reset those of
// the process, as with kube-apiserver.
func Handler(resets bool, others ...prometheus.Gatherer) http.Handler {
	libraries := legacyregistry.HandlerWithReset()
	all := metrics.HandlerFor(append(prometheus.Gatherers{legacyregistry.DefaultGatherer, own()}, others...),
		metrics.HandlerOpts{})
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if resets && req.Method == http.MethodDelete {
			own().Reset()
			libraries.ServeHTTP(w, req)
			return
		}
		all.ServeHTTP(w, req)
	})
}
