// Package embedded runs an etcd in this process that does not survive it: it does not sync, and elects itself at once.
package embedded

import (
	"context"
	"fmt"
	"net/url"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

// Etcd is a running etcd.
type Etcd struct {
	// URL is where it serves clients.
	URL string

	server *embed.Etcd
}

// Start starts an etcd on a free port with its data in dir, and returns when it serves. The caller ends it with Close.
func Start(ctx context.Context, dir string) (*Etcd, error) {
	config := embed.NewConfig()
	config.Dir = dir
	config.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop()) // it logs its own closing as errors
	config.UnsafeNoFsync = true                                       // nothing here has to survive
	config.TickMs, config.ElectionMs = 10, 100
	anyPort := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	config.ListenClientUrls, config.AdvertiseClientUrls = anyPort, anyPort
	config.ListenPeerUrls, config.AdvertisePeerUrls = anyPort, anyPort
	config.InitialCluster = config.InitialClusterFromName(config.Name)

	server, err := embed.StartEtcd(config)
	if err != nil {
		return nil, fmt.Errorf("start etcd: %w", err)
	}
	select {
	case <-server.Server.ReadyNotify():
		return &Etcd{URL: "http://" + server.Clients[0].Addr().String(), server: server}, nil
	case <-ctx.Done():
		server.Close()
		return nil, fmt.Errorf("start etcd: %w", ctx.Err())
	}
}

// Close stops the etcd.
func (e *Etcd) Close() { e.server.Close() }
