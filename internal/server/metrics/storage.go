package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/server/etcd"
)

// Storage collects the metrics of a store and its etcd when they are scraped. It keeps nothing itself, so the series of
// a resource end with the resource. Metrics that kube-apiserver has too carry its names. docs/metrics.md lists them.
type Storage struct {
	Store  *dynamicstorage.Store
	Client *clientv3.Client
	// Folders names the resources.
	Folders *etcd.Folders
}

var _ prometheus.Collector = &Storage{}

// Gatherer returns a registry with these metrics and others of the same server. It is not the registry of the process,
// in which other servers may run.
func (s *Storage) Gatherer(others ...prometheus.Collector) prometheus.Gatherer {
	registry := prometheus.NewRegistry()
	registry.MustRegister(append(others, s)...)
	return registry
}

// metric is one of the whole store, or one with a value for each resource in memory.
type metric[Stats any] struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	of   func(*Stats) int64
	// labels are the values of the labels after group and resource.
	labels []string
}

type (
	resourceStats = dynamicstorage.ResourceStats
	storeStats    = dynamicstorage.Stats
)

func perResource(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, alpha+help, append([]string{"group", "resource"}, labels...), nil)
}

func ofStore(name, help string) *prometheus.Desc {
	return prometheus.NewDesc(name, alpha+help, nil, nil)
}

// alpha and stable begin the help of metrics, as in kube-apiserver.
const (
	alpha  = "[ALPHA] "
	stable = "[STABLE] "
)

var (
	consistentReads = perResource("apiserver_watch_cache_consistent_read_total",
		"Counter for consistent reads from cache.", "success", "fallback")
	storageLists = perResource("apiserver_storage_list_total",
		"Number of LIST requests served from storage", "storage", "index")
	consistencyChecks = perResource("apiserver_storage_consistency_checks_total",
		"Counter for status of consistency checks between etcd and watch cache", "status")
)

var resourceMetrics = []metric[resourceStats]{
	{desc: perResource("apiserver_resource_objects", "Number of stored objects of the resources in memory."),
		kind: prometheus.GaugeValue, of: func(s *resourceStats) int64 { return int64(s.Entries) }},
	{desc: perResource("apiserver_storage_events_received_total", "Number of etcd events received split by kind."),
		kind: prometheus.CounterValue, of: func(s *resourceStats) int64 { return s.Received }},
	{desc: perResource("apiserver_watch_cache_events_received_total",
		"Counter of events received in watch cache broken by resource type."),
		kind: prometheus.CounterValue, of: func(s *resourceStats) int64 { return s.Received }},
	{desc: perResource("apiserver_watch_cache_resource_version",
		"Current resource version of watch cache broken by resource type. This is truncated to the 15 least significant "+
			"digits."),
		kind: prometheus.GaugeValue, of: func(s *resourceStats) int64 { return s.Revision % 1e15 }},
	{desc: perResource("apiserver_watch_cache_initializations_total",
		"Counter of watch cache initializations broken by resource type."),
		kind: prometheus.CounterValue, of: func(s *resourceStats) int64 { return s.Loads }},
	{desc: perResource("apiserver_watch_cache_initialization_errors_total",
		"Counter of watch cache initialization errors broken by resource type."),
		kind: prometheus.CounterValue, of: func(s *resourceStats) int64 { return s.FailedLoads }},
	{desc: perResource("watch_cache_capacity", "Total capacity of watch cache broken by resource type."),
		kind: prometheus.GaugeValue, of: func(s *resourceStats) int64 { return int64(s.EventCapacity) }},
	{desc: consistentReads, labels: []string{"true", "false"},
		kind: prometheus.CounterValue, of: func(s *resourceStats) int64 { return s.ReadsInMemory }},
	{desc: consistentReads, labels: []string{"true", "true"},
		kind: prometheus.CounterValue, of: func(s *resourceStats) int64 { return s.ReadsPassedOn }},
	{desc: storageLists, labels: []string{"watchcache", ""},
		kind: prometheus.CounterValue, of: func(s *resourceStats) int64 { return s.Lists }},
	{desc: storageLists, labels: []string{"etcd", ""},
		kind: prometheus.CounterValue, of: func(s *resourceStats) int64 { return s.StoredLists }},
	{desc: consistencyChecks, labels: []string{"success"},
		kind: prometheus.CounterValue, of: func(s *resourceStats) int64 { return s.Consistent }},
	{desc: consistencyChecks, labels: []string{"failure"},
		kind: prometheus.CounterValue, of: func(s *resourceStats) int64 { return s.Different }},
	{desc: consistencyChecks, labels: []string{"error"},
		kind: prometheus.CounterValue, of: func(s *resourceStats) int64 { return s.Unchecked }},

	{desc: perResource("crd_server_cache_bytes", "About the memory of the objects in memory."),
		kind: prometheus.GaugeValue, of: func(s *resourceStats) int64 { return s.Bytes }},
	{desc: perResource("crd_server_cache_reloads_total",
		"How often a resource was read again because events had been lost."),
		kind: prometheus.CounterValue, of: func(s *resourceStats) int64 { return s.Reloads }},
	{desc: perResource("crd_server_ring_events",
		"Recent events at hand for watches; watch_cache_capacity is the most there can be."),
		kind: prometheus.GaugeValue, of: func(s *resourceStats) int64 { return int64(s.Events) }},
	{desc: perResource("crd_server_ring_bytes", "About the memory of replaced objects that recent events hold."),
		kind: prometheus.GaugeValue, of: func(s *resourceStats) int64 { return s.EventBytes }},
	{desc: perResource("crd_server_watchers", "Open watches, those of the server itself among them."),
		kind: prometheus.GaugeValue, of: func(s *resourceStats) int64 { return int64(s.Watchers) }},
}

var storeMetrics = []metric[storeStats]{
	{desc: ofStore("crd_server_cache_loaded_resources", "Resources in memory."),
		kind: prometheus.GaugeValue, of: func(s *storeStats) int64 { return int64(len(s.Resources)) }},
	{desc: ofStore("crd_server_feed_connected", "Whether the watch on etcd is established."),
		kind: prometheus.GaugeValue, of: func(s *storeStats) int64 { return truth(s.Connected) }},
	{desc: ofStore("crd_server_feed_breaks_total", "How often the watch on etcd was lost."),
		kind: prometheus.CounterValue, of: func(s *storeStats) int64 { return s.Breaks }},
	{desc: ofStore("crd_server_feed_unread_events_total", "Events of resources that are not in memory."),
		kind: prometheus.CounterValue, of: func(s *storeStats) int64 { return s.UnreadEvents }},
	{desc: ofStore("crd_server_compactions_total", "Compactions of etcd that this server has done."),
		kind: prometheus.CounterValue, of: func(s *storeStats) int64 { return s.Compactions }},
	{desc: ofStore("crd_server_views_made_total", "Objects that were made ready to be served in a version."),
		kind: prometheus.CounterValue, of: func(s *storeStats) int64 { return s.ViewsMade }},
}

var (
	lagRevisions = ofStore("crd_server_feed_lag_revisions", "How many revisions memory was behind etcd when it was asked.")
	lagSeconds   = ofStore("crd_server_feed_lag_seconds",
		"How long it took memory to come to where etcd was then; the time it was given if it did not.")
	storedBytes = prometheus.NewDesc("apiserver_storage_size_bytes",
		stable+"Size of the storage database file physically allocated in bytes.", []string{"storage_cluster_id"}, nil)
)

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// Describe implements prometheus.Collector. It describes nothing, so the registry checks each scrape instead.
func (s *Storage) Describe(chan<- *prometheus.Desc) {}

// collectTimeout bounds the requests to etcd of one scrape.
const collectTimeout = time.Second

// Collect implements prometheus.Collector.
func (s *Storage) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	s.measureLag(ctx, ch)
	s.measureSize(ctx, ch)
	stats := s.Store.Stats()
	for _, m := range storeMetrics {
		ch <- prometheus.MustNewConstMetric(m.desc, m.kind, float64(m.of(&stats)))
	}
	for n := range stats.Resources {
		r := &stats.Resources[n]
		labels := s.Folders.ResourceIn(r.Resource)
		for _, m := range resourceMetrics {
			ch <- prometheus.MustNewConstMetric(m.desc, m.kind, float64(m.of(r)),
				append([]string{labels.Group, labels.Resource}, m.labels...)...)
		}
	}
}

// measureLag asks etcd for its revision, and measures the time until the cache has reached it.
func (s *Storage) measureLag(ctx context.Context, ch chan<- prometheus.Metric) {
	at := s.Store.Stats().Revision
	revision, err := s.Store.CurrentRevision(ctx)
	if err != nil {
		return
	}
	began := time.Now()
	_ = s.Store.WaitForRevision(ctx, revision) // a timeout shows in the time
	ch <- prometheus.MustNewConstMetric(lagRevisions, prometheus.GaugeValue, float64(max(revision-at, 0)))
	ch <- prometheus.MustNewConstMetric(lagSeconds, prometheus.GaugeValue, time.Since(began).Seconds())
}

// measureSize asks etcd for the size of its database. An etcd in this process has no endpoints.
func (s *Storage) measureSize(ctx context.Context, ch chan<- prometheus.Metric) {
	endpoint := ""
	if endpoints := s.Client.Endpoints(); len(endpoints) > 0 {
		endpoint = endpoints[0]
	}
	if status, err := s.Client.Status(ctx, endpoint); err == nil {
		ch <- prometheus.MustNewConstMetric(storedBytes, prometheus.GaugeValue, float64(status.DbSize), "etcd-0")
	}
}
