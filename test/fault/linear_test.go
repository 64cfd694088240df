package fault

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/crd-server/crd-server/test/etcd/cluster"
	"github.com/crd-server/crd-server/test/process"
	"github.com/crd-server/crd-server/test/programs"
	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	replicas      = 2
	linearClients = 8
	linearKeys    = 5
	// linearPace is the pause after a request, which keeps histories short enough to check.
	linearPace = 15 * time.Millisecond
	// linearTimeout bounds a request. It is longer than every disturbance, so that most get a response.
	linearTimeout = 10 * time.Second
)

// TestLinearizable lets clients work on a few keys through two replicas on an etcd cluster of three members, while it
// kills and stops members, moves the leader, cuts connections and kills replicas. The responses must fit one order of
// all operations, and watches must have the events of etcd.
func TestLinearizable(t *testing.T) {
	besideOthers(t)
	defer written.outcome(t, time.Now())
	c := cluster.Start(t, members)
	replicas := startReplicas(t, c)
	newClient(t, replicas[0].server()).must(t, http.StatusCreated, http.MethodPost, definitions, asJSON,
		[]byte(definition))
	for _, r := range replicas {
		r.waitServed(t)
	}
	begin := newestRevision(t, c)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	h := &history{began: time.Now()}
	var working, watching sync.WaitGroup
	followers := make([]*follower, len(replicas))
	for i, r := range replicas {
		followers[i] = &follower{replica: r, after: begin}
		watching.Go(func() { followers[i].follow(ctx) })
	}
	for number := range linearClients {
		w := &worker{number: number, random: choices(t, number+1), replicas: replicas, history: h}
		working.Go(func() { w.work(ctx, size(10*time.Second, 5*time.Minute)) })
	}
	d := &disturber{cluster: c, replicas: replicas, random: choices(t, 0), done: map[string]int{}}
	workDone := make(chan struct{})
	go func() { working.Wait(); close(workDone) }()
	d.disturb(ctx, t, workDone)

	end := newestRevision(t, c)
	waitFollowed(t, followers, end)
	cancel()
	watching.Wait()
	j := &judgement{operations: slices.Clone(h.operations), log: changesIn(t, c, begin, end)}
	for i, f := range followers {
		f.check(t, fmt.Sprintf("replica %d", i), j.log)
	}
	for _, fault := range j.check() {
		t.Error(fault)
	}
	written.add(t, "%d operations of %d clients, %d changes in etcd, disturbed by %v; answers: %v",
		len(h.operations), linearClients, len(j.log), d.done, h.answers())
}

// replica is a server on a cluster. Its connections go through proxies that can be cut. It can be killed and started
// again.
type replica struct {
	options process.Options
	proxies []*proxy

	current atomic.Pointer[process.Server]

	mu sync.Mutex // guards the fields below
	// shared is a client of sharedOf.
	shared   *client
	sharedOf *process.Server
}

func (r *replica) server() *process.Server { return r.current.Load() }

// client returns a client of the server that runs now. Callers share it, and its connection.
func (r *replica) client() (*client, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	server := r.server()
	if r.sharedOf == server {
		return r.shared, nil
	}
	c, err := connect(server)
	if err != nil {
		return nil, err
	}
	if r.shared != nil {
		r.shared.http.CloseIdleConnections()
	}
	r.shared, r.sharedOf = c, server
	return c, nil
}

func startReplicas(t *testing.T, c *cluster.Cluster) []*replica {
	t.Helper()
	all := make([]*replica, replicas)
	for i := range all {
		r := &replica{}
		var urls []string
		for _, m := range c.Members {
			p := startProxy(t, m.URL)
			r.proxies, urls = append(r.proxies, p), append(urls, p.url())
		}
		// Compaction would remove the log that responses are compared with.
		r.options = process.Options{Binary: programs.Server(),
			DataDir: filepath.Join(t.TempDir(), fmt.Sprintf("replica%d", i)),
			Args:    []string{"--etcd-servers", strings.Join(urls, ","), "--etcd-compaction-interval", "0"}}
		r.current.Store(startServer(t, r.options))
		r.options.Port = r.server().Port()
		all[i] = r
	}
	return all
}

// waitServed waits until the replica serves the resource.
func (r *replica) waitServed(t *testing.T) {
	t.Helper()
	client := newClient(t, r.server())
	for {
		if _, _, code, err := client.list(t.Context()); err == nil && code == http.StatusOK {
			return
		}
		if pause(t.Context(), 20*time.Millisecond); t.Context().Err() != nil {
			t.Fatal("a replica does not serve the resource")
		}
	}
}

// newestRevision returns etcd's revision.
func newestRevision(t *testing.T, c *cluster.Cluster) int64 {
	t.Helper()
	resp, err := c.Client.Get(t.Context(), "/")
	if err != nil {
		t.Fatal(err)
	}
	return resp.Header.Revision
}

// changesIn returns all changes after one revision up to another.
func changesIn(t *testing.T, c *cluster.Cluster, after, until int64) []change {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	folder := "/registry/" + group + "/" + plural + "/fault/"
	var changes []change
	events := c.Client.Watch(ctx, folder, clientv3.WithPrefix(), clientv3.WithRev(after+1),
		clientv3.WithProgressNotify(), clientv3.WithCreatedNotify())
	for resp := range events {
		if err := resp.Err(); err != nil {
			t.Fatal(err)
		}
		for _, event := range resp.Events {
			made := change{key: strings.TrimPrefix(string(event.Kv.Key), folder), revision: event.Kv.ModRevision}
			if event.Type == clientv3.EventTypePut {
				var o object
				if err := json.Unmarshal(event.Kv.Value, &o); err != nil {
					t.Fatalf("%s: %v", event.Kv.Key, err)
				}
				made.exists, made.value = true, o.Spec.Value
			}
			changes = append(changes, made)
		}
		if resp.Header.Revision >= until && (resp.IsProgressNotify() || len(changes) > 0 &&
			changes[len(changes)-1].revision >= until) {
			return changes
		}
		if err := c.Client.RequestProgress(ctx); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatalf("the log of etcd did not reach revision %d", until)
	return nil
}

// history has the operations of all clients.
type history struct {
	began time.Time

	mu         sync.Mutex // guards operations
	operations []*operation
}

func (h *history) now() int64 { return time.Since(h.began).Nanoseconds() }

func (h *history) add(o *operation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.operations = append(h.operations, o)
}

// answers counts the status codes.
func (h *history) answers() map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	counts := map[string]int{}
	for _, o := range h.operations {
		code := fmt.Sprint(o.code)
		if o.code == 0 || o.code == known {
			code = "none"
		}
		counts[code]++
	}
	return counts
}

// disturber breaks one thing at a time.
type disturber struct {
	cluster  *cluster.Cluster
	replicas []*replica
	random   *rand.Rand
	// done counts disturbances by kind.
	done map[string]int
}

// disturb breaks things until the work is done.
func (d *disturber) disturb(ctx context.Context, t *testing.T, workDone <-chan struct{}) {
	t.Helper()
	for {
		select {
		case <-workDone:
			return
		case <-time.After(time.Duration(300+d.random.IntN(1200)) * time.Millisecond):
		}
		names := []string{"member killed", "member stopped", "leader moved", "connections cut", "connections refused",
			"replica killed"}
		name := names[d.random.IntN(len(names))]
		if err := d.do(ctx, t, name); err != nil {
			t.Logf("%s: %v", name, err)
			continue
		}
		d.done[name]++
	}
}

func (d *disturber) do(ctx context.Context, t *testing.T, name string) error {
	m := d.cluster.Members[d.random.IntN(members)]
	r := d.replicas[d.random.IntN(len(d.replicas))]
	short := time.Duration(200+d.random.IntN(1800)) * time.Millisecond
	switch name {
	case "member killed":
		if err := m.Kill(); err != nil {
			return err
		}
		pause(ctx, short)
		return m.Start()
	case "member stopped":
		return stopFor(ctx, m, short)
	case "leader moved":
		moving, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		return d.cluster.MoveLeader(moving)
	case "connections cut", "connections refused":
		for _, p := range r.proxies {
			p.cut()
		}
		if name == "connections refused" {
			pause(ctx, short)
		}
		for _, p := range r.proxies {
			p.heal()
		}
		return nil
	default:
		if err := r.server().Kill(); err != nil {
			return err
		}
		r.current.Store(startServer(t, r.options))
		return nil
	}
}
