// Command etcd runs one etcd member with etcd's own defaults as a process: for the servers that bench measures, and
// as a member that tests kill and stop. It prints its client URL when it serves. A member of a cluster serves once
// there is a quorum.
package main

import (
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"syscall"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

func main() {
	var m member
	flag.StringVar(&m.dir, "data-dir", "", "directory of its data")
	flag.StringVar(&m.name, "name", "default", "name of the member")
	flag.StringVar(&m.client, "client-url", "http://127.0.0.1:0", "where it serves clients")
	flag.StringVar(&m.peer, "peer-url", "http://127.0.0.1:0", "where it serves other members")
	flag.StringVar(&m.cluster, "initial-cluster", "", "all members, as name=peer-url,...; this one alone by default")
	flag.Int64Var(&m.quota, "quota-backend-bytes", 8<<30, "how large its database may become")
	flag.Parse()
	if err := m.run(); err != nil {
		fmt.Fprintln(os.Stderr, "etcd:", err)
		os.Exit(1)
	}
}

// member holds the options of a member.
type member struct {
	dir, name, client, peer, cluster string
	quota                            int64
}

func (m *member) config() (*embed.Config, error) {
	client, err := url.Parse(m.client)
	if err != nil {
		return nil, err
	}
	peer, err := url.Parse(m.peer)
	if err != nil {
		return nil, err
	}
	config := embed.NewConfig()
	config.Dir, config.Name = m.dir, m.name
	config.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop()) // it logs its own closing as errors
	config.QuotaBackendBytes = m.quota
	config.ListenClientUrls, config.AdvertiseClientUrls = []url.URL{*client}, []url.URL{*client}
	config.ListenPeerUrls, config.AdvertisePeerUrls = []url.URL{*peer}, []url.URL{*peer}
	if config.InitialCluster = m.cluster; m.cluster == "" {
		config.InitialCluster = config.InitialClusterFromName(config.Name)
	}
	return config, nil
}

// run serves until the process gets SIGINT or SIGTERM.
func (m *member) run() error {
	config, err := m.config()
	if err != nil {
		return err
	}
	end := make(chan os.Signal, 1)
	signal.Notify(end, os.Interrupt, syscall.SIGTERM)
	server, err := embed.StartEtcd(config)
	if err != nil {
		return err
	}
	defer server.Close()
	select {
	case <-server.Server.ReadyNotify():
	case err := <-server.Err():
		return err
	case <-end:
		return nil
	}
	fmt.Printf("http://%s\n", server.Clients[0].Addr())
	select {
	case <-end:
		return nil
	case err := <-server.Err():
		return err
	}
}
