package server

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

const measuredCRD = `{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
"metadata": {"name": "measures.example.com"},
	"spec": {"group": "example.com", "scope": "Cluster", "names": {"plural": "measures", "kind": "Measure"}, "versions": [
		{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}]}}`

// launchWhole starts a server with all its parts and waits until it is ready.
func launchWhole(t *testing.T, change func(*Options)) *testServer {
	t.Helper()
	return launchComposed(t, compose, change)
}

// launchComposed is launchWhole with another composer.
func launchComposed(t *testing.T, compose composer, change func(*Options)) *testServer {
	t.Helper()
	line := &readyLine{seen: make(chan struct{})}
	o := NewOptions()
	o.DataDir, o.Serving.SecurePort, o.Out = filepath.Join(t.TempDir(), "data"), 0, line
	change(o)
	ctx, stop := context.WithCancel(context.Background())
	s := &testServer{t: t, options: o, line: line, stop: stop, ended: make(chan struct{})}
	go func() {
		defer close(s.ended)
		s.err = runWith(ctx, o, compose)
	}()
	t.Cleanup(s.shutDown)
	s.waitReady()
	return s
}

func send(t *testing.T, client *http.Client, method, url, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if method == "PATCH" {
		request.Header.Set("Content-Type", "application/merge-patch+json")
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode >= 300 {
		t.Fatalf("%s %s: %s", method, url, response.Status)
	}
}

// series returns the value of a series in a page of /metrics, and whether the page has it.
func series(page, name string) (float64, bool) {
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (\S+)$`).FindStringSubmatch(page)
	if found == nil {
		return 0, false
	}
	value, err := strconv.ParseFloat(found[1], 64)
	return value, err == nil
}

// TestStorageMetrics checks the series of a resource, and that they are removed with its CRD. It does not run in
// parallel, because all servers of the process share the metrics.
func TestStorageMetrics(t *testing.T) {
	s := launchWhole(t, func(o *Options) { o.Etcd.CheckInterval = 50 * time.Millisecond })
	client, url := s.as("admin", "system:masters")
	send(t, client, "POST", url+"/apis/apiextensions.k8s.io/v1/customresourcedefinitions", measuredCRD)
	objects := url + "/apis/example.com/v1/measures"
	for _, name := range []string{"a", "b"} {
		send(t, client, "POST", objects,
			`{"apiVersion": "example.com/v1", "kind": "Measure", "metadata": {"name": "`+name+`"}}`)
	}
	send(t, client, "GET", objects, "")
	send(t, client, "GET", objects+"/a", "")
	send(t, client, "PATCH", objects+"/a", `{"metadata": {"labels": {"a": "b"}}}`)

	const of = `group="example.com",resource="measures"`
	atLeast := map[string]float64{
		"apiserver_resource_objects{" + of + "}":                                                               2,
		"apiserver_storage_events_received_total{" + of + "}":                                                  1,
		"apiserver_watch_cache_events_received_total{" + of + "}":                                              1,
		"apiserver_watch_cache_resource_version{" + of + "}":                                                   4,
		"apiserver_watch_cache_initializations_total{" + of + "}":                                              1,
		"apiserver_watch_cache_initialization_errors_total{" + of + "}":                                        0,
		"watch_cache_capacity{" + of + "}":                                                                     100,
		`apiserver_watch_cache_consistent_read_total{fallback="false",` + of + `,success="true"}`:              1,
		`apiserver_watch_cache_consistent_read_total{fallback="true",` + of + `,success="true"}`:               0,
		`apiserver_storage_list_total{group="example.com",index="",resource="measures",storage="watchcache"}`:  1,
		`apiserver_storage_list_total{group="example.com",index="",resource="measures",storage="etcd"}`:        0,
		`apiserver_storage_consistency_checks_total{` + of + `,status="success"}`:                              1,
		`apiserver_storage_consistency_checks_total{` + of + `,status="failure"}`:                              0,
		`apiserver_storage_consistency_checks_total{` + of + `,status="error"}`:                                0,
		"crd_server_cache_bytes{" + of + "}":                                                                   100,
		"crd_server_cache_reloads_total{" + of + "}":                                                           0,
		"crd_server_ring_events{" + of + "}":                                                                   1,
		"crd_server_ring_bytes{" + of + "}":                                                                    1,
		"crd_server_watchers{" + of + "}":                                                                      0,
		"crd_server_cache_loaded_resources":                                                                    2,
		"crd_server_feed_connected":                                                                            1,
		"crd_server_feed_breaks_total":                                                                         0,
		"crd_server_feed_unread_events_total":                                                                  0,
		"crd_server_feed_lag_revisions":                                                                        0,
		"crd_server_feed_lag_seconds":                                                                          0,
		"crd_server_compactions_total":                                                                         0,
		"crd_server_views_made_total":                                                                          0,
		`apiserver_storage_size_bytes{storage_cluster_id="etcd-0"}`:                                            1000,
		`etcd_requests_total{` + `group="example.com",operation="create",resource="measures"}`:                 2,
		`etcd_requests_total{` + `group="example.com",operation="update",resource="measures"}`:                 1,
		`etcd_requests_total{` + `group="example.com",operation="list",resource="measures"}`:                   1,
		`etcd_requests_total{` + `group="",operation="count",resource=""}`:                                     1,
		`etcd_request_duration_seconds_count{` + `group="example.com",operation="create",resource="measures"}`: 2,
	}
	page := ""
	for name, least := range atLeast { // events and checks come a little later
		waitUntil(t, fmt.Sprintf("%s is at least %v", name, least), func() bool {
			value, ok := series(page, name)
			if !ok || value < least {
				page = do(t, client, "GET", url+"/metrics").body
			}
			return ok && value >= least
		})
	}
	if value, _ := series(page, `apiserver_storage_consistency_checks_total{`+of+`,status="failure"}`); value != 0 {
		t.Error("the cache is inconsistent with etcd")
	}

	send(t, client, "DELETE", url+"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/measures.example.com", "")
	left := regexp.MustCompile(`(?m)^(apiserver_resource_objects|apiserver_storage_|apiserver_watch_cache_|` +
		`watch_cache_capacity|crd_server_).*resource="measures".*$`)
	waitUntil(t, "the series of the deleted CRD have been removed", func() bool {
		page = do(t, client, "GET", url+"/metrics").body
		return !left.MatchString(page)
	})
	if value, ok := series(page, `apiserver_resource_objects{group="apiextensions.k8s.io",`+
		`resource="customresourcedefinitions"}`); !ok ||
		value != 0 {
		t.Errorf("%v CRDs are left (%v)", value, ok)
	}
}
