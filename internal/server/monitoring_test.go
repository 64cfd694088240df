package server

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestMonitoringFiles checks that the metrics exist that the alerts and the dashboard of config/monitoring ask for,
// and that the token of docs/monitoring.md may read them, and not much else. It does not run in parallel, because all
// servers of the process share the metrics.
func TestMonitoringFiles(t *testing.T) {
	token := written(t, "tokens.csv", "secret,prometheus,prometheus,system:monitoring\n")
	s := startWhole(t, "--token-auth-file", token, "--cache-consistency-check-interval", "50ms")
	s.root().withTables().must(200, "GET", tablesPath, "")
	prometheus := s.person("").with("Authorization", "Bearer secret")
	prometheus.must(200, "GET", "/metrics/slis", "")
	prometheus.must(200, "GET", "/readyz/etcd", "")
	for _, path := range []string{tablesPath, definitionsPath, "/debug/pprof/", "/"} {
		prometheus.must(403, "GET", path, "")
	}
	prometheus.must(403, "DELETE", "/metrics", "")

	page := ""
	has := func(name string) bool { return strings.Contains(page, "\n# TYPE "+name+" ") }
	for _, late := range []string{"apiserver_storage_consistency_checks_total", "apiserver_current_inflight_requests"} {
		waitUntil(t, "there is the metric "+late, func() bool {
			page = prometheus.must(200, "GET", "/metrics", "").body
			return has(late)
		})
	}
	atFailure := []string{"etcd_request_errors_total", "apiserver_request_terminations_total"} // no series before
	used := regexp.MustCompile(`\b([a-z]+(?:_[a-z0-9]+)+?)(?:_bucket)?\{`)
	for _, name := range []string{"rules.yaml", "dashboard.json"} {
		content, err := os.ReadFile(filepath.Join("../../config/monitoring", name))
		if err != nil {
			t.Fatal(err)
		}
		all := used.FindAllStringSubmatch(string(content), -1)
		if len(all) < 10 {
			t.Errorf("%s: only %d metrics", name, len(all))
		}
		for _, found := range all {
			if !has(found[1]) && !slices.Contains(atFailure, found[1]) {
				t.Errorf("%s: there is no metric %s", name, found[1])
			}
		}
	}
}
