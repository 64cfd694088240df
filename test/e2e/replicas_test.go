package e2e

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/crd-server/crd-server/test/etcd/cluster"
	"github.com/crd-server/crd-server/test/process"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// replicas are servers on one etcd cluster with the same authority and the same certificate.
type replicas struct {
	*testing.T
	etcd    *cluster.Cluster
	options []process.Options
	servers []*process.Server
	next    atomic.Uint32 // the replica of the next connection
}

// startReplicas starts count servers on an etcd cluster of some members.
func startReplicas(t *testing.T, members, count int) *replicas {
	t.Helper()
	r := &replicas{T: t, etcd: cluster.Start(t, members)}
	endpoints := "--etcd-servers=" + strings.Join(r.etcd.Endpoints(), ",")
	for i := range count {
		options := process.Options{DataDir: filepath.Join(t.TempDir(), "data"), Args: []string{endpoints}}
		if i > 0 {
			if err := os.CopyFS(filepath.Join(options.DataDir, "pki"),
				os.DirFS(filepath.Join(r.options[0].DataDir, "pki"))); err != nil {
				t.Fatal(err)
			}
		}
		server := start(t, options)
		options.Port = server.Port()
		r.options, r.servers = append(r.options, options), append(r.servers, server)
	}
	return r
}

// restart stops a replica, as an upgrade does, and starts it again at its address.
func (r *replicas) restart(i int) {
	r.Helper()
	if err := r.servers[i].Stop(); err != nil {
		r.Errorf("replica %d did not stop cleanly: %v\n%s", i, err, r.servers[i].Output())
	}
	r.servers[i] = start(r.T, r.options[i])
}

// kill kills a replica.
func (r *replicas) kill(i int) {
	r.Helper()
	if err := r.servers[i].Kill(); err != nil {
		r.Fatal(err)
	}
}

// dial connects to the replicas in turn, and to the next one if one cannot be reached.
func (r *replicas) dial(ctx context.Context, network, _ string) (connection net.Conn, err error) {
	first := int(r.next.Add(1))
	for i := range r.options {
		chosen := r.options[(first+i)%len(r.options)]
		var dialer net.Dialer
		if connection, err = dialer.DialContext(ctx, network, fmt.Sprintf("127.0.0.1:%d", chosen.Port)); err == nil {
			break
		}
	}
	return connection, err
}

// client returns a client with its own connections to all replicas. It does not retry.
func (r *replicas) client() dynamic.Interface {
	r.Helper()
	config := rest.CopyConfig(adminConfig(r.T, r.servers[0]))
	config.Dial = r.dial
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		r.Fatal(err)
	}
	return client
}

// TestRollingRestart restarts two replicas in turn, several times, and moves the leader of their etcd cluster, while
// clients of both write, read and watch. No acknowledged write may be lost, no watch may miss an event or see one
// twice, and every failure must be one that clients retry.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	r := startReplicas(t, 3, 2)
	setup := r.client()
	createCRDs(t, setup, readManifests(t, samplesDir+"/regions.yaml"))

	traffic := startTraffic(r)
	disturbances := []func(){
		func() { r.restart(0) }, func() { r.restart(1) },
		func() {
			if err := r.etcd.MoveLeader(t.Context()); err != nil {
				t.Error(err)
			}
		},
		func() { r.restart(0) }, func() { r.restart(1) },
		func() { // kills the leader, so that it cannot hand over
			leader, err := r.etcd.Leader(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := r.etcd.Members[leader].Kill(); err != nil {
				t.Error(err)
			}
			traffic.goesOn()
			if err := r.etcd.Members[leader].Start(); err != nil {
				t.Error(err)
			}
		},
	}
	for _, disturb := range disturbances {
		traffic.goesOn()
		disturb()
	}
	traffic.goesOn()
	traffic.stop()
	traffic.check()
}
