package etcd

import (
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/apimachinery/pkg/util/sets"
)

// shownMetrics are those metrics of the embedded etcd that the server shows: the disk, and the size of the database.
var shownMetrics = sets.New(
	"etcd_disk_backend_commit_duration_seconds",
	"etcd_disk_wal_fsync_duration_seconds",
	"etcd_disk_wal_write_bytes_total",
	"etcd_mvcc_db_total_size_in_bytes",
	"etcd_mvcc_db_total_size_in_use_in_bytes",
	"etcd_server_proposals_pending",
	"etcd_server_quota_backend_bytes",
	"etcd_server_slow_apply_total",
)

// embeddedMetrics gathers the metrics of the embedded etcd, which registers them in Prometheus' default registry.
var embeddedMetrics = prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
	all, err := prometheus.DefaultGatherer.Gather()
	shown := all[:0]
	for _, family := range all {
		if shownMetrics.Has(family.GetName()) {
			shown = append(shown, family)
		}
	}
	return shown, err
})
