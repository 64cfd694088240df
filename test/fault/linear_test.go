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
	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	replicas      = 2
	linearClients = 8
	linearKeys    = 5
	// linearPace is how long a client rests after a request: histories must be checked.
	linearPace = 15 * time.Millisecond
)

// TestLinearizable has clients work on a few keys through two replicas on a cluster of three, while members are killed, stopped and relieved of
// leading, connections to them are cut, and replicas are killed. Whatever the clients were told must fit one order of all
// operations, and watches must tell what etcd has.
func TestLinearizable(t *testing.T) {
	defer written.outcome(t, time.Now())
	c := startCluster(t, members)
	replicas := startReplicas(t, c)
	newClient(t, replicas[0].server()).must(t, http.StatusCreated, http.MethodPost, definitions, asJSON, []byte(definition))
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
		working.Go(func() { w.work(ctx, size(20*time.Second, 5*time.Minute)) })
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

// replica is a server on a cluster, reached through proxies that can be cut. It may be killed and started again.
type replica struct {
	options process.Options
	proxies []*proxy

	current atomic.Pointer[process.Server]
}

func (r *replica) server() *process.Server { return r.current.Load() }

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
		// Compaction would take the log away, which is what answers are compared with.
		r.options = process.Options{Binary: binary(), DataDir: filepath.Join(t.TempDir(), fmt.Sprintf("replica%d", i)),
			Args: []string{"--etcd-servers", strings.Join(urls, ","), "--etcd-compaction-interval", "0"}}
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

// newestRevision is the revision of etcd.
func newestRevision(t *testing.T, c *cluster.Cluster) int64 {
	t.Helper()
	resp, err := c.Client.Get(t.Context(), "/")
	if err != nil {
		t.Fatal(err)
	}
	return resp.Header.Revision
}

// changesIn returns all changes after one revision, up to another.
func changesIn(t *testing.T, c *cluster.Cluster, after, until int64) []change {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	folder := "/registry/" + group + "/" + plural + "/fault/"
	var changes []change
	events := c.Client.Watch(ctx, folder, clientv3.WithPrefix(), clientv3.WithRev(after+1), clientv3.WithProgressNotify(), clientv3.WithCreatedNotify())
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
		if resp.Header.Revision >= until && (resp.IsProgressNotify() || len(changes) > 0 && changes[len(changes)-1].revision >= until) {
			return changes
		}
		if err := c.Client.RequestProgress(ctx); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatalf("the log of etcd did not reach revision %d", until)
	return nil
}

// history is all operations of all clients.
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

// worker is a client that does one operation after the other, on any replica.
type worker struct {
	number   int
	random   *rand.Rand
	replicas []*replica
	history  *history
	writes   int
	// seen is the revision of each key, as the last answer had it.
	seen map[string]int64
}

// work goes on for a while.
func (w *worker) work(ctx context.Context, d time.Duration) {
	w.seen = map[string]int64{}
	clients := map[*process.Server]*client{}
	for began := time.Now(); time.Since(began) < d && ctx.Err() == nil; pause(ctx, linearPace) {
		server := w.replicas[w.random.IntN(len(w.replicas))].server()
		if clients[server] == nil {
			c, err := connect(server)
			if err != nil {
				continue // it is just being started
			}
			clients[server] = c
		}
		w.operate(ctx, clients[server])
	}
	for _, c := range clients {
		c.http.CloseIdleConnections()
	}
}

// operate does one operation and keeps it in the history.
func (w *worker) operate(ctx context.Context, c *client) {
	actions := []action{create, create, update, update, patch, patch, apply, remove, get, get, get, list}
	o := &operation{client: w.number, action: actions[w.random.IntN(len(actions))], key: fmt.Sprintf("cell-%d", w.random.IntN(linearKeys))}
	if o.action == update && w.seen[o.key] == 0 {
		o.action = get
	}
	if o.action != get && o.action != list && o.action != remove {
		w.writes++
		o.value = fmt.Sprintf("%d-%d", w.number, w.writes)
	}
	o.begun = w.history.now()
	w.send(ctx, c, o)
	o.ended = w.history.now()
	w.history.add(o)
}

// send sends an operation and reads its answer. What leaves open whether a write was done has code 0.
func (w *worker) send(ctx context.Context, c *client, o *operation) {
	path := cells + "/" + o.key
	var (
		code   int
		answer []byte
		err    error
	)
	switch o.action {
	case list:
		o.items, o.revision, code, err = c.list(ctx)
		if err == nil && code == http.StatusOK {
			o.code = code
		}
		return
	case create:
		code, answer, err = c.do(ctx, http.MethodPost, cells, asJSON, body(o.key, o.value, 0))
	case update:
		o.condition = w.seen[o.key]
		code, answer, err = c.do(ctx, http.MethodPut, path, asJSON, body(o.key, o.value, o.condition))
	case patch:
		code, answer, err = c.do(ctx, http.MethodPatch, path, asMergePatch, fmt.Appendf(nil, `{"spec":{"value":"%s"}}`, o.value))
	case apply:
		code, answer, err = c.do(ctx, http.MethodPatch, path+"?fieldManager=fault&force=true", asApply, body(o.key, o.value, 0))
	case remove:
		code, answer, err = c.do(ctx, http.MethodDelete, path, "", nil)
	case get:
		code, answer, err = c.do(ctx, http.MethodGet, path, "", nil)
	}
	var found object
	switch {
	case err != nil:
	case code == http.StatusNotFound, code == http.StatusConflict && (o.action == create || o.action == update):
		o.code = code
	case code != http.StatusOK && code != http.StatusCreated:
	case o.action == remove:
		o.code = code
	case json.Unmarshal(answer, &found) != nil:
		o.code, o.value = code, fmt.Sprintf("no object: %.300s", answer)
	default:
		o.code, o.value, o.revision = code, found.Spec.Value, found.revision()
		w.seen[o.key] = o.revision
	}
}

// disturber breaks one thing at a time.
type disturber struct {
	cluster  *cluster.Cluster
	replicas []*replica
	random   *rand.Rand
	// done counts what was done.
	done map[string]int
}

// disturb goes on until the work is done.
func (d *disturber) disturb(ctx context.Context, t *testing.T, workDone <-chan struct{}) {
	t.Helper()
	for {
		select {
		case <-workDone:
			return
		case <-time.After(time.Duration(300+d.random.IntN(1200)) * time.Millisecond):
		}
		names := []string{"member killed", "member stopped", "leader moved", "connections cut", "connections refused", "replica killed"}
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

// follower watches a replica, however often it has to begin again, and keeps what it is told.
type follower struct {
	replica *replica
	// after is the revision that the next watch begins after.
	after int64

	mu      sync.Mutex // guards the fields below
	seen    []change
	reached int64
	err     error
	resumed int
}

// follow goes on until the context ends.
func (f *follower) follow(ctx context.Context) {
	for ctx.Err() == nil && f.failure() == nil {
		c, err := connect(f.replica.server())
		if err == nil {
			f.watch(ctx, c)
			c.http.CloseIdleConnections()
		}
		f.mu.Lock()
		f.resumed++
		f.mu.Unlock()
		pause(ctx, 20*time.Millisecond)
	}
}

func (f *follower) failure() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// watch watches until the server ends it.
func (f *follower) watch(ctx context.Context, c *client) {
	path := fmt.Sprintf("%s?watch=true&allowWatchBookmarks=true&resourceVersion=%d", cells, f.after)
	resp, err := c.open(ctx, http.MethodGet, path, "", nil)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		if resp.StatusCode < 500 && resp.StatusCode != http.StatusTooManyRequests {
			f.fail(fmt.Errorf("watch after %d: status %d", f.after, resp.StatusCode))
		}
		return
	}
	for decoder := json.NewDecoder(resp.Body); ; {
		var event struct {
			Type   string          `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		if decoder.Decode(&event) != nil {
			return
		}
		var o object
		if err := json.Unmarshal(event.Object, &o); err != nil {
			f.fail(fmt.Errorf("an event has no object: %w: %.300s", err, event.Object))
			return
		}
		switch event.Type {
		case "ADDED", "MODIFIED":
			f.note(o.revision(), change{key: o.Metadata.Name, revision: o.revision(), exists: true, value: o.Spec.Value})
		case "DELETED":
			f.note(o.revision(), change{key: o.Metadata.Name, revision: o.revision()})
		case "BOOKMARK":
			f.note(o.revision())
		default:
			f.fail(fmt.Errorf("watch after %d: %s", f.after, event.Object))
			return
		}
	}
}

func (f *follower) note(revision int64, changes ...change) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = append(f.seen, changes...)
	f.reached, f.after = revision, revision
}

func (f *follower) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

// waitFollowed waits until the followers have seen the last change.
func waitFollowed(t *testing.T, followers []*follower, end int64) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute) // bookmarks come once a minute
	for _, f := range followers {
		for {
			f.mu.Lock()
			reached, err := f.reached, f.err
			f.mu.Unlock()
			if err != nil || reached >= end {
				break
			}
			if time.Now().After(deadline) {
				t.Errorf("a watch has reached revision %d, not %d", reached, end)
				break
			}
			pause(t.Context(), 20*time.Millisecond)
		}
	}
}

// check compares what the follower was told with the log.
func (f *follower) check(t *testing.T, name string, log []change) {
	t.Helper()
	if err := f.failure(); err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	if slices.Equal(f.seen, log) {
		return
	}
	for i := range min(len(f.seen), len(log)) {
		if f.seen[i] != log[i] {
			t.Errorf("%s: event %d is %+v, the log has %+v", name, i, f.seen[i], log[i])
			return
		}
	}
	t.Errorf("%s: %d events, the log has %d", name, len(f.seen), len(log))
}
