package server

import (
	"context"
	"fmt"
	"net/url"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3rpc"
	"go.etcd.io/etcd/server/v3/proxy/grpcproxy/adapter"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// storage is a connection to etcd and what has to be closed after it.
type storage struct {
	client *clientv3.Client
	// newWatcher makes an etcd watcher with streams of its own; nil for an external etcd.
	newWatcher func() clientv3.Watcher
	// failed reports that the embedded etcd gave up; nil for an external one.
	failed <-chan error
	close  func()
}

// maxRequestBytes bounds one write to the embedded etcd: objects of up to 3 MiB with their encoding.
const maxRequestBytes = 4 << 20

// startEtcd runs a one-member etcd in this process, reachable through the returned client only: no port, no socket.
func startEtcd(ctx context.Context, dir *DataDir) (*storage, error) {
	server, err := embed.StartEtcd(embeddedConfig(dir))
	if err != nil {
		return nil, fmt.Errorf("start the embedded etcd in %s: %w", dir.Path("etcd"), err)
	}
	select {
	case <-server.Server.ReadyNotify():
	case err := <-server.Err():
		server.Close()
		return nil, fmt.Errorf("start the embedded etcd in %s: %w", dir.Path("etcd"), err)
	case <-ctx.Done():
		server.Close()
		return nil, ctx.Err()
	}
	client := v3client.New(server.Server)
	newWatcher := func() clientv3.Watcher {
		return clientv3.NewWatchFromWatchClient(adapter.WatchServerToWatchClient(v3rpc.NewWatchServer(server.Server)), client)
	}
	return &storage{client: client, newWatcher: newWatcher, failed: server.Err(), close: func() {
		_ = client.Close() // ends the client's own streams; an in-process client has no connection that could fail
		server.Close()
	}}, nil
}

func embeddedConfig(dir *DataDir) *embed.Config {
	c := embed.NewConfig()
	c.Name = "crd-server"
	c.Dir = dir.Path("etcd")
	// There is no other member and no outside client, hence no listener. The peer URL only names the member, and must
	// never change: the member's identity in the data is derived from it.
	c.ListenPeerUrls, c.ListenClientUrls, c.AdvertiseClientUrls = nil, nil, nil
	c.AdvertisePeerUrls = []url.URL{{Scheme: "http", Host: "crd-server.invalid:2380"}}
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	c.EnableGRPCGateway = false
	// A single member has nobody to hear from: short ticks only make it elect itself sooner.
	c.TickMs, c.ElectionMs = 10, 100
	// Nor does it have followers that might lag: keep few applied entries, with their values, in memory.
	c.SnapshotCount, c.SnapshotCatchUpEntries = 1000, 100
	// A start reads all files of the log that are left, twice, and no follower could want more of it than what came after the
	// last snapshot. Files that are needed for that are never removed, however many they are.
	c.MaxWalFiles = 2
	wal.SegmentSizeBytes = 16 << 20
	c.MaxRequestBytes = maxRequestBytes
	c.QuotaBackendBytes = 8 << 30
	c.AutoCompactionMode, c.AutoCompactionRetention = embed.CompactorModePeriodic, "5m"
	c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(etcdLogger())
	return c
}

// etcdLogger passes on what etcd can not recover from; everything else shows in the errors we get.
func etcdLogger() *zap.Logger {
	c := zap.NewProductionConfig()
	c.Level = zap.NewAtomicLevelAt(zapcore.DPanicLevel)
	logger, err := c.Build()
	if err != nil {
		return zap.NewNop()
	}
	return logger
}
