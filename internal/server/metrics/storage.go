package metrics

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/server/etcd"
)

// storageMetrics collects the metrics of a store and its etcd when they are scraped. It keeps nothing itself, so the
// series of a resource end with the resource. Metrics that kube-apiserver has too carry its names. docs/metrics.md
// lists them.
type storageMetrics struct {
	metrics.BaseStableCollector
	source atomic.Pointer[storageSource]
}

// storageSource is a store with its client of etcd.
type storageSource struct {
	store   *dynamicstorage.Store
	client  *clientv3.Client
	folders *etcd.Folders
}

// theStorage is the collector of the process, because the process has one registry.
var theStorage storageMetrics

var registerStorage = sync.OnceFunc(func() { legacyregistry.CustomMustRegister(&theStorage) })

// FollowStorage collects the metrics of a store until ctx is done. The folders name its resources.
func FollowStorage(ctx context.Context, store *dynamicstorage.Store, client *clientv3.Client, folders *etcd.Folders) {
	theStorage.follow(ctx, &storageSource{store: store, client: client, folders: folders})
}

func (m *storageMetrics) follow(ctx context.Context, source *storageSource) {
	m.source.Store(source)
	<-ctx.Done()
	m.source.CompareAndSwap(source, nil) // unless another server of this process has replaced it
}

// resourceMetric is a metric with a value for each resource in memory.
type resourceMetric struct {
	desc *metrics.Desc
	kind metrics.ValueType
	of   func(*dynamicstorage.ResourceStats) int64
	// labels are the values of the labels after group and resource.
	labels []string
}

// storeMetric is a metric of the whole store.
type storeMetric struct {
	desc *metrics.Desc
	kind metrics.ValueType
	of   func(*dynamicstorage.Stats) int64
}

type (
	resourceStats = dynamicstorage.ResourceStats
	storeStats    = dynamicstorage.Stats
)

func perResource(name, help string, labels ...string) *metrics.Desc {
	return metrics.NewDesc(name, help, append([]string{"group", "resource"}, labels...), nil, metrics.ALPHA, "")
}

func ofStore(name, help string) *metrics.Desc {
	return metrics.NewDesc(name, help, nil, nil, metrics.ALPHA, "")
}

var (
	consistentReads = perResource("apiserver_watch_cache_consistent_read_total",
		"Counter for consistent reads from cache.", "success", "fallback")
	storageLists = perResource("apiserver_storage_list_total",
		"Number of LIST requests served from storage", "storage", "index")
	consistencyChecks = perResource("apiserver_storage_consistency_checks_total",
		"Counter for status of consistency checks between etcd and watch cache", "status")
)

var resourceMetrics = []resourceMetric{
	{desc: perResource("apiserver_resource_objects", "Number of stored objects of the resources in memory."),
		kind: metrics.GaugeValue, of: func(s *resourceStats) int64 { return int64(s.Entries) }},
	{desc: perResource("apiserver_storage_events_received_total", "Number of etcd events received split by kind."),
		kind: metrics.CounterValue, of: func(s *resourceStats) int64 { return s.Received }},
	{desc: perResource("apiserver_watch_cache_events_received_total", "Counter of events received in watch cache broken by resource type."),
		kind: metrics.CounterValue, of: func(s *resourceStats) int64 { return s.Received }},
	{desc: perResource("apiserver_watch_cache_resource_version",
		"Current resource version of watch cache broken by resource type. This is truncated to the 15 least significant digits."),
		kind: metrics.GaugeValue, of: func(s *resourceStats) int64 { return s.Revision % 1e15 }},
	{desc: perResource("apiserver_watch_cache_initializations_total", "Counter of watch cache initializations broken by resource type."),
		kind: metrics.CounterValue, of: func(s *resourceStats) int64 { return s.Loads }},
	{desc: perResource("apiserver_watch_cache_initialization_errors_total", "Counter of watch cache initialization errors broken by resource type."),
		kind: metrics.CounterValue, of: func(s *resourceStats) int64 { return s.FailedLoads }},
	{desc: perResource("watch_cache_capacity", "Total capacity of watch cache broken by resource type."),
		kind: metrics.GaugeValue, of: func(s *resourceStats) int64 { return int64(s.EventCapacity) }},
	{desc: consistentReads, labels: []string{"true", "false"},
		kind: metrics.CounterValue, of: func(s *resourceStats) int64 { return s.ReadsInMemory }},
	{desc: consistentReads, labels: []string{"true", "true"},
		kind: metrics.CounterValue, of: func(s *resourceStats) int64 { return s.ReadsPassedOn }},
	{desc: storageLists, labels: []string{"watchcache", ""},
		kind: metrics.CounterValue, of: func(s *resourceStats) int64 { return s.Lists }},
	{desc: storageLists, labels: []string{"etcd", ""},
		kind: metrics.CounterValue, of: func(s *resourceStats) int64 { return s.StoredLists }},
	{desc: consistencyChecks, labels: []string{"success"},
		kind: metrics.CounterValue, of: func(s *resourceStats) int64 { return s.Consistent }},
	{desc: consistencyChecks, labels: []string{"failure"},
		kind: metrics.CounterValue, of: func(s *resourceStats) int64 { return s.Different }},
	{desc: consistencyChecks, labels: []string{"error"},
		kind: metrics.CounterValue, of: func(s *resourceStats) int64 { return s.Unchecked }},

	{desc: perResource("crd_server_cache_bytes", "About the memory of the objects in memory."),
		kind: metrics.GaugeValue, of: func(s *resourceStats) int64 { return s.Bytes }},
	{desc: perResource("crd_server_cache_reloads_total", "How often a resource was read again because events had been lost."),
		kind: metrics.CounterValue, of: func(s *resourceStats) int64 { return s.Reloads }},
	{desc: perResource("crd_server_ring_events", "Recent events at hand for watches; watch_cache_capacity is the most there can be."),
		kind: metrics.GaugeValue, of: func(s *resourceStats) int64 { return int64(s.Events) }},
	{desc: perResource("crd_server_ring_bytes", "About the memory of replaced objects that recent events hold."),
		kind: metrics.GaugeValue, of: func(s *resourceStats) int64 { return s.EventBytes }},
	{desc: perResource("crd_server_watchers", "Open watches, those of the server itself among them."),
		kind: metrics.GaugeValue, of: func(s *resourceStats) int64 { return int64(s.Watchers) }},
}

var storeMetrics = []storeMetric{
	{ofStore("crd_server_cache_loaded_resources", "Resources in memory."),
		metrics.GaugeValue, func(s *storeStats) int64 { return int64(len(s.Resources)) }},
	{ofStore("crd_server_feed_connected", "Whether the watch on etcd is established."),
		metrics.GaugeValue, func(s *storeStats) int64 { return truth(s.Connected) }},
	{ofStore("crd_server_feed_breaks_total", "How often the watch on etcd was lost."),
		metrics.CounterValue, func(s *storeStats) int64 { return s.Breaks }},
	{ofStore("crd_server_feed_unread_events_total", "Events of resources that are not in memory."),
		metrics.CounterValue, func(s *storeStats) int64 { return s.UnreadEvents }},
	{ofStore("crd_server_compactions_total", "Compactions of etcd that this server has done."),
		metrics.CounterValue, func(s *storeStats) int64 { return s.Compactions }},
	{ofStore("crd_server_views_made_total", "Objects that were made ready to be served in a version."),
		metrics.CounterValue, func(s *storeStats) int64 { return s.ViewsMade }},
}

var (
	lagRevisions = ofStore("crd_server_feed_lag_revisions", "How many revisions memory was behind etcd when it was asked.")
	lagSeconds   = ofStore("crd_server_feed_lag_seconds", "How long it took memory to come to where etcd was then; the time it was given if it did not.")
	storedBytes  = metrics.NewDesc("apiserver_storage_size_bytes", "Size of the storage database file physically allocated in bytes.",
		[]string{"storage_cluster_id"}, nil, metrics.STABLE, "")
)

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// DescribeWithStability implements metrics.StableCollector.
func (m *storageMetrics) DescribeWithStability(ch chan<- *metrics.Desc) {
	var last *metrics.Desc
	for _, r := range resourceMetrics { // metrics that share a description are neighbours
		if r.desc != last {
			ch <- r.desc
		}
		last = r.desc
	}
	for _, s := range storeMetrics {
		ch <- s.desc
	}
	ch <- lagRevisions
	ch <- lagSeconds
	ch <- storedBytes
}

// collectTimeout bounds the requests to etcd of one scrape.
const collectTimeout = time.Second

// CollectWithStability implements metrics.StableCollector.
func (m *storageMetrics) CollectWithStability(ch chan<- metrics.Metric) {
	source := m.source.Load()
	if source == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	source.measureLag(ctx, ch)
	source.measureSize(ctx, ch)
	stats := source.store.Stats()
	for _, s := range storeMetrics {
		ch <- metrics.NewLazyConstMetric(s.desc, s.kind, float64(s.of(&stats)))
	}
	for n := range stats.Resources {
		r := &stats.Resources[n]
		labels := source.folders.ResourceIn(r.Resource)
		for _, metric := range resourceMetrics {
			ch <- metrics.NewLazyConstMetric(metric.desc, metric.kind, float64(metric.of(r)),
				append([]string{labels.Group, labels.Resource}, metric.labels...)...)
		}
	}
}

// measureLag asks etcd for its revision, and measures the time until the cache has reached it.
func (s *storageSource) measureLag(ctx context.Context, ch chan<- metrics.Metric) {
	at := s.store.Stats().Revision
	revision, err := s.store.CurrentRevision(ctx)
	if err != nil {
		return
	}
	began := time.Now()
	_ = s.store.WaitForRevision(ctx, revision) // a timeout shows in the time
	ch <- metrics.NewLazyConstMetric(lagRevisions, metrics.GaugeValue, float64(max(revision-at, 0)))
	ch <- metrics.NewLazyConstMetric(lagSeconds, metrics.GaugeValue, time.Since(began).Seconds())
}

// measureSize asks etcd for the size of its database. An etcd in this process has no endpoints.
func (s *storageSource) measureSize(ctx context.Context, ch chan<- metrics.Metric) {
	endpoint := ""
	if endpoints := s.client.Endpoints(); len(endpoints) > 0 {
		endpoint = endpoints[0]
	}
	if status, err := s.client.Status(ctx, endpoint); err == nil {
		ch <- metrics.NewLazyConstMetric(storedBytes, metrics.GaugeValue, float64(status.DbSize), "etcd-0")
	}
}
