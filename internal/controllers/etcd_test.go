package controllers

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// etcd is shared by all tests of the package; each has a prefix of its own.
var etcd *clientv3.Client

func TestMain(m *testing.M) { os.Exit(withEtcd(m)) }

func withEtcd(m *testing.M) int {
	dir, err := os.MkdirTemp("", "controllers")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	config := embed.NewConfig()
	config.Dir = filepath.Join(dir, "data")
	config.LogLevel = "panic"
	config.TickMs, config.ElectionMs = 10, 100
	peer := url.URL{Scheme: "unix", Path: filepath.Join(dir, "peer")}
	config.ListenPeerUrls, config.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	config.ListenClientUrls, config.AdvertiseClientUrls = nil, []url.URL{peer}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	config.UnsafeNoFsync = true
	server, err := embed.StartEtcd(config)
	if err != nil {
		panic(err)
	}
	defer server.Close()
	<-server.Server.ReadyNotify()
	etcd = v3client.New(server.Server)
	return m.Run()
}

// newStore runs a store until the test ends, which then finds its prefix empty when it is run again.
func newStore(t *testing.T, prefix string) *dynamicstorage.Store {
	t.Helper()
	t.Cleanup(func() { _, _ = etcd.Delete(context.Background(), prefix+"/", clientv3.WithPrefix()) })
	store, err := dynamicstorage.New(dynamicstorage.Options{Client: etcd, Prefix: prefix})
	if err != nil {
		t.Fatal(err)
	}
	runUntilEnd(t, func(ctx context.Context) { _ = store.Run(ctx) })
	return store
}

func runUntilEnd(t *testing.T, run func(context.Context)) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
}
