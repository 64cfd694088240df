// Package cluster runs an etcd cluster as processes that a test can stop, kill and start again.
//
// Begin with Start. The program of a member is the command in the folder above.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/crd-server/crd-server/test/port"
	"github.com/crd-server/crd-server/test/programs"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// Cluster is a running cluster.
type Cluster struct {
	Members []*Member
	// Client connects to all members.
	Client *clientv3.Client
}

// Start starts a cluster of size members, passes args to each of them, and returns when all serve. The cluster ends
// with the test.
func Start(t testing.TB, size int, args ...string) *Cluster {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "etcd") // before Cleanup: it is removed after the members have ended
	c := &Cluster{}
	t.Cleanup(func() { _ = c.Close() }) // a member that the test has killed is no error
	if err := c.start(dir, size, args); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *Cluster) start(dir string, size int, args []string) error {
	binary, err := programs.Etcd()
	if err != nil {
		return err
	}
	var peers []string
	for i := range size {
		client, err := port.Free()
		if err != nil {
			return err
		}
		peer, err := port.Free()
		if err != nil {
			return err
		}
		m := &Member{Name: fmt.Sprintf("m%d", i), binary: binary,
			URL: "http://" + port.Address(client), peer: "http://" + port.Address(peer)}
		m.dir = filepath.Join(dir, m.Name)
		m.args = append([]string{"-data-dir", m.dir, "-name", m.Name, "-client-url", m.URL, "-peer-url", m.peer}, args...)
		c.Members = append(c.Members, m)
		peers = append(peers, m.Name+"="+m.peer)
	}
	started := make(chan error, size)
	for _, m := range c.Members {
		m.args = append(m.args, "-initial-cluster", strings.Join(peers, ","))
		go func() { started <- m.Start() }() // ends when the member serves, or has ended
	}
	var errs []error
	for range size {
		errs = append(errs, <-started)
	}
	c.Client, err = clientv3.New(clientv3.Config{Endpoints: c.Endpoints(), Logger: zap.NewNop()})
	return errors.Join(append(errs, err)...)
}

// Close ends all members.
func (c *Cluster) Close() error {
	var errs []error
	for _, m := range c.Members {
		errs = append(errs, m.Kill())
	}
	if c.Client != nil {
		errs = append(errs, c.Client.Close())
	}
	return errors.Join(errs...)
}

// Endpoints are the client URLs of all members.
func (c *Cluster) Endpoints() []string {
	var urls []string
	for _, m := range c.Members {
		urls = append(urls, m.URL)
	}
	return urls
}

// ErrNoLeader is returned if no reachable member is the leader.
var ErrNoLeader = errors.New("no member leads")

// Leader returns the index of the leader.
func (c *Cluster) Leader(ctx context.Context) (int, error) {
	for i, m := range c.Members {
		asking, cancel := context.WithTimeout(ctx, time.Second)
		status, err := c.Client.Status(asking, m.URL)
		cancel()
		if err == nil && status.Leader == status.Header.MemberId {
			return i, nil
		}
	}
	return 0, ErrNoLeader
}

// MoveLeader makes another member the leader.
func (c *Cluster) MoveLeader(ctx context.Context) error {
	leader, err := c.Leader(ctx)
	if err != nil {
		return err
	}
	next, err := c.Client.Status(ctx, c.Members[(leader+1)%len(c.Members)].URL)
	if err != nil {
		return err
	}
	direct, err := clientv3.New(clientv3.Config{Endpoints: []string{c.Members[leader].URL}, Logger: zap.NewNop()})
	if err != nil {
		return err
	}
	defer direct.Close()
	_, err = direct.MoveLeader(ctx, next.Header.MemberId)
	return err
}
