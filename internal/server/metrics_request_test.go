package server

import (
	"strings"
	"testing"
)

// TestRequestMetrics checks the metrics of requests that dashboards of kube-apiserver show.
func TestRequestMetrics(t *testing.T) {
	t.Parallel()
	s := startWhole(t)
	root := s.root()
	root.send("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "")
	for _, series := range []string{
		`apiserver_request_total{`,
		`apiserver_request_duration_seconds_count{`,
		`apiserver_request_sli_duration_seconds_count{`,
		`apiserver_current_inflight_requests{request_kind="readOnly"}`, // is updated once a second
		`apiserver_current_inflight_requests{request_kind="mutating"}`,
		`kubernetes_build_info{build_date="`,
		`,git_version="` + versionInfo().GitVersion + `",`,
		`etcd_disk_wal_fsync_duration_seconds_count `, // of the embedded etcd
		`etcd_disk_backend_commit_duration_seconds_count `,
		`etcd_mvcc_db_total_size_in_bytes `,
		`etcd_mvcc_db_total_size_in_use_in_bytes `,
		`etcd_server_quota_backend_bytes `,
	} {
		waitUntil(t, "/metrics has "+series,
			func() bool { return strings.Contains(root.send("GET", "/metrics", "").body, series) })
	}
}
