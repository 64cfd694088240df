package fault

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/crd-server/crd-server/test/etcd/cluster"
	"github.com/crd-server/crd-server/test/process"
	"github.com/crd-server/crd-server/test/programs"
)

// controllersLease is the key of the Lease of the replica that runs the controllers.
const controllersLease = "/registry/leases/kube-system/crd-server-controllers"

// fleet is one server with its embedded etcd, or several on an etcd of their own.
type fleet struct {
	replicas []*replica
	// leader is the replica that runs the controllers.
	leader int
	// cluster is nil with an embedded etcd.
	cluster *cluster.Cluster
}

// startOnEtcd starts servers on one etcd. The first one leads.
func startOnEtcd(t *testing.T, servers int) *fleet {
	t.Helper()
	f := &fleet{cluster: cluster.Start(t, 1)}
	for n := range servers {
		f.add(t, process.Options{Binary: programs.Server(), DataDir: filepath.Join(t.TempDir(), fmt.Sprint("replica", n)),
			Args: []string{withControllers, "--etcd-servers", f.cluster.Members[0].URL, "--etcd-compaction-interval", "0"}})
		f.awaitLeader(t, "")
	}
	return f
}

func (f *fleet) add(t *testing.T, options process.Options) {
	t.Helper()
	r := &replica{options: options}
	r.current.Store(startServer(t, options))
	r.options.Port = r.server().Port()
	f.replicas = append(f.replicas, r)
}

func (f *fleet) kill(t *testing.T, n int) {
	t.Helper()
	if err := f.replicas[n].server().Kill(); err != nil {
		t.Fatal(err)
	}
}

// takeOver starts the leader again, which was killed. With two replicas the other one leads before.
func (f *fleet) takeOver(t *testing.T) {
	t.Helper()
	killed, before := f.leader, ""
	if f.cluster != nil {
		before = f.dropLease(t)
	}
	if len(f.replicas) > 1 {
		f.leader = 1 - killed
		f.awaitLeader(t, before)
	}
	f.replicas[killed].current.Store(startServer(t, f.replicas[killed].options))
}

// dropLease returns who held the Lease. The short form deletes the Lease, because it expires too late.
func (f *fleet) dropLease(t *testing.T) (before string) {
	t.Helper()
	if before = f.holder(t); !*full {
		if _, err := f.cluster.Client.Delete(t.Context(), controllersLease); err != nil {
			t.Fatal(err)
		}
	}
	return before
}

// awaitLeader waits until another replica than before leads, one that was not started again.
func (f *fleet) awaitLeader(t *testing.T, before string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; pause(t.Context(), 20*time.Millisecond) {
		holder := f.holder(t)
		switch {
		case holder != "" && holder != before:
			return
		case time.Now().After(deadline):
			t.Fatalf("the Lease is held by %q, as before", holder)
		}
	}
}

// holder returns who holds the Lease, "" if nobody does.
func (f *fleet) holder(t *testing.T) string {
	t.Helper()
	resp, err := f.cluster.Client.Get(t.Context(), controllersLease)
	if err != nil {
		t.Fatal(err)
	}
	var lease struct {
		Spec struct{ HolderIdentity string }
	}
	for _, kv := range resp.Kvs {
		if err := json.Unmarshal(kv.Value, &lease); err != nil {
			t.Fatal(err)
		}
	}
	return lease.Spec.HolderIdentity
}

// do sends a request to a replica.
func (f *fleet) do(ctx context.Context, n int, method, path string, content []byte) (int, []byte, error) {
	c, err := f.replicas[n].client()
	if err != nil {
		return 0, nil, err
	}
	mediaType := asJSON
	if method == http.MethodPatch {
		mediaType = asMergePatch
	}
	return c.do(ctx, method, path, mediaType, content)
}

// must is do for a request to the leader that has to succeed.
func (f *fleet) must(t *testing.T, code int, method, path string, content []byte) []byte {
	t.Helper()
	got, answer, err := f.do(t.Context(), f.leader, method, path, content)
	if err != nil || got != code {
		t.Fatalf("%s %s: %d %v %.300s", method, path, got, err, answer)
	}
	return answer
}

// insist sends a request to one replica after the other until one answers it, and not with 5xx.
func (f *fleet) insist(ctx context.Context, method, path string, content []byte) (code int, answer []byte, err error) {
	for n := 0; ctx.Err() == nil; n++ {
		code, answer, err = f.do(ctx, n%len(f.replicas), method, path, content)
		if err == nil && code < 500 && code != http.StatusTooManyRequests {
			return code, answer, nil
		}
		pause(ctx, 20*time.Millisecond)
	}
	return 0, nil, ctx.Err()
}
