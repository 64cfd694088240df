package etcd

import (
	"context"
	"fmt"
	"net/url"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3rpc"
	"go.etcd.io/etcd/server/v3/proxy/grpcproxy/adapter"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Connection is a connection to etcd.
type Connection struct {
	Client *clientv3.Client
	// requests are those of the client to read and write keys.
	requests pb.KVClient
	// NewWatcher returns an etcd watcher with streams of its own; nil for an external etcd.
	NewWatcher func() clientv3.Watcher
	// Metrics gathers the metrics of an etcd in this process; nil for an external one, which has its own.
	Metrics prometheus.Gatherer
	// Wait returns the error when an etcd in this process gives up, or nil when ctx is done.
	Wait func(ctx context.Context) error
	// Close closes the client, and stops the embedded etcd.
	Close func()
}

// maxRequestBytes bounds one write to the embedded etcd. It allows objects of 3 MiB with their encoding.
const maxRequestBytes = 4 << 20

// UseSmallLogs makes the files of the log smaller, which etcd allocates in advance, for all etcds of the process.
func UseSmallLogs() { wal.SegmentSizeBytes = 16 << 20 }

// StartEmbedded runs an etcd with one member in this process. It opens no port: only the returned client reaches it.
func StartEmbedded(ctx context.Context, dir string) (*Connection, error) {
	server, err := start(ctx, embeddedConfig(dir))
	if err != nil {
		return nil, fmt.Errorf("start the embedded etcd in %s: %w", dir, err)
	}
	c := server.connect()
	disconnect := c.Close
	c.Close = func() {
		disconnect()
		server.Close()
	}
	return c, nil
}

// member is an etcd with one member in this process.
type member struct {
	*embed.Etcd
	// failed is done when the etcd has given up. Its cause is the error.
	failed context.Context
}

// start starts an etcd, and waits until it answers.
func start(ctx context.Context, config *embed.Config) (*member, error) {
	server, err := embed.StartEtcd(config)
	if err != nil {
		return nil, err
	}
	select {
	case <-server.Server.ReadyNotify():
	case err = <-server.Err():
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		server.Close()
		return nil, err
	}
	failed, fail := context.WithCancelCause(context.Background())
	go func() { // ends when the etcd is closed
		if err, open := <-server.Err(); open {
			fail(err)
		}
	}()
	return &member{server, failed}, nil
}

// connect returns a connection to the etcd. Close leaves the etcd alone.
func (m *member) connect() *Connection {
	client := v3client.New(m.Server)
	return &Connection{
		Client: client, Metrics: embeddedMetrics,
		requests: adapter.KvServerToKvClient(v3rpc.NewQuotaKVServer(m.Server)),
		// See docs/upstream.md, "In-process client has no NewWatcher".
		NewWatcher: func() clientv3.Watcher {
			streams := adapter.WatchServerToWatchClient(v3rpc.NewWatchServer(m.Server))
			return clientv3.NewWatchFromWatchClient(streams, client)
		},
		Wait: func(ctx context.Context) error {
			select {
			case <-m.failed.Done():
				return context.Cause(m.failed)
			case <-ctx.Done():
				return nil
			}
		},
		Close: func() { _ = client.Close() }, // an in-process client has no connection whose closing could fail
	}
}

func embeddedConfig(dir string) *embed.Config {
	c := embed.NewConfig()
	c.Name = "crd-server"
	c.Dir = dir
	// There are no other members and no outside clients, hence no listeners. The peer URL only names the member. It
	// must never change, because the member's identity in the data is derived from it.
	c.ListenPeerUrls, c.ListenClientUrls, c.AdvertiseClientUrls = nil, nil, nil
	c.AdvertisePeerUrls = []url.URL{{Scheme: "http", Host: "crd-server.invalid:2380"}}
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	c.EnableGRPCGateway = false
	// A single member waits for nobody: with short ticks it elects itself sooner.
	c.TickMs, c.ElectionMs = 10, 100
	// No followers can lag, so few applied entries need to stay in memory.
	c.SnapshotCount, c.SnapshotCatchUpEntries = 1000, 100
	// Each start reads all remaining files of the log twice. etcd never removes files that are newer than the last
	// snapshot.
	c.MaxWalFiles = 2
	c.MaxRequestBytes = maxRequestBytes
	c.QuotaBackendBytes = 8 << 30
	c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(logger())
	return c
}

// logger logs only what etcd cannot recover from. Callers see all other errors.
func logger() *zap.Logger {
	c := zap.NewProductionConfig()
	c.Level = zap.NewAtomicLevelAt(zapcore.DPanicLevel)
	return zap.Must(c.Build())
}

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
