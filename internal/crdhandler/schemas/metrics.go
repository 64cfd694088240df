package schemas

import (
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

// The metrics have no label for the CRD: the number of CRDs has no limit.
var (
	cachedBytes = metrics.NewGauge(&metrics.GaugeOpts{
		Name:           "crd_server_schema_cache_bytes",
		Help:           "About how much memory compiled schemas take, see --schema-cache-size.",
		StabilityLevel: metrics.ALPHA,
	})
	evictions = metrics.NewCounter(&metrics.CounterOpts{
		Name:           "crd_server_schema_cache_evictions_total",
		Help:           "How often the compiled schemas of a CustomResourceDefinition were given up to make room for others.",
		StabilityLevel: metrics.ALPHA,
	})
)

func init() {
	legacyregistry.MustRegister(cachedBytes, evictions)
}
