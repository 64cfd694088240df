package schemas

import "github.com/prometheus/client_golang/prometheus"

// The metrics have no label for the CRD: the number of CRDs has no limit.
var (
	cachedBytes = prometheus.NewDesc("crd_server_schema_cache_bytes",
		"[ALPHA] About how much memory compiled schemas take, see --schema-cache-size.", nil, nil)
	evictions = prometheus.NewDesc("crd_server_schema_cache_evictions_total", "[ALPHA] How often the compiled schemas "+
		"of a CustomResourceDefinition were given up to make room for others.", nil, nil)
)

var _ prometheus.Collector = &Cache{}

// Describe implements prometheus.Collector.
func (c *Cache) Describe(ch chan<- *prometheus.Desc) {
	ch <- cachedBytes
	ch <- evictions
}

// Collect implements prometheus.Collector.
func (c *Cache) Collect(ch chan<- prometheus.Metric) {
	c.mu.Lock()
	bytes, evicted := c.bytes, c.evicted
	c.mu.Unlock()
	ch <- prometheus.MustNewConstMetric(cachedBytes, prometheus.GaugeValue, float64(bytes))
	ch <- prometheus.MustNewConstMetric(evictions, prometheus.CounterValue, float64(evicted))
}
