package dynamicstorage

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/crd-server/crd-server/internal/etcdtest"
)

// shared is the etcd of all tests that do not compact it. Each has a prefix of its own.
var shared *testEtcd

// TestMain fails if a test has left a goroutine behind.
func TestMain(m *testing.M) {
	shared = startEtcd()
	code := m.Run()
	shared.stop()
	if err := goleak.Find(); err != nil && code == 0 {
		println(err.Error())
		code = 1
	}
	os.Exit(code)
}

// testEtcd is an etcd in this process behind a proxy that can be shut.
type testEtcd struct {
	*etcdtest.Etcd
	proxy  *proxy
	client *clientv3.Client // bypasses the proxy
}

func startEtcd() *testEtcd {
	e := &testEtcd{Etcd: etcdtest.Start()}
	socket := e.Addr().String()
	e.proxy = startProxy(filepath.Join(e.Dir, "proxy"), socket)
	e.client = dial(socket)
	return e
}

func (e *testEtcd) stop() {
	_ = e.client.Close()
	e.proxy.stop()
	e.Stop()
}

// ownEtcd returns an etcd for one test.
func ownEtcd(t testing.TB) *testEtcd {
	e := startEtcd()
	t.Cleanup(e.stop)
	return e
}

// dial returns a client that connects through the proxy.
func (p *proxy) dial(t testing.TB) *clientv3.Client {
	c := dial(p.path)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func dial(path string) *clientv3.Client {
	soon := backoff.Config{BaseDelay: 5 * time.Millisecond, Multiplier: 1, MaxDelay: 5 * time.Millisecond}
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{"unix:" + path}, Logger: zap.NewNop(),
		DialTimeout:        10 * time.Second,
		BackoffWaitBetween: 5 * time.Millisecond,
		DialOptions:        []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{Backoff: soon})}})
	must(err)
	return c
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// proxy forwards connections to a socket. While it is shut, it has no connections and accepts none.
type proxy struct {
	path     string
	listener net.Listener
	running  sync.WaitGroup

	mu     sync.Mutex // guards the fields below
	target string
	conns  map[net.Conn]bool
	shut   bool
}

func startProxy(path, target string) *proxy {
	listener, err := net.Listen("unix", path)
	must(err)
	p := &proxy{path: path, target: target, listener: listener, conns: map[net.Conn]bool{}}
	p.running.Go(p.accept)
	return p
}

func (p *proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("unix", p.currentTarget())
		if err != nil || !p.add(conn, server) {
			_ = conn.Close()
			continue
		}
		forward := func(to, from net.Conn) {
			_, _ = io.Copy(to, from)
			_, _ = to.Close(), from.Close()
			p.remove(to)
		}
		p.running.Go(func() { forward(server, conn) })
		p.running.Go(func() { forward(conn, server) })
	}
}

func (p *proxy) add(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		if p.shut {
			_ = c.Close()
			continue
		}
		p.conns[c] = true
	}
	return !p.shut
}

func (p *proxy) remove(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

// cut breaks all connections. If shut is true, the proxy stays shut until open.
func (p *proxy) cut(shut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shut = shut
	for c := range p.conns {
		_ = c.Close()
	}
}

func (p *proxy) currentTarget() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.target
}

// redirect makes new connections go to another target.
func (p *proxy) redirect(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

func (p *proxy) open() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shut = false
}

func (p *proxy) stop() {
	_ = p.listener.Close()
	p.cut(true)
	p.running.Wait()
}

// run runs a store until the end of the test, and then compares it with etcd.
func run(t testing.TB, options Options) *Store {
	t.Helper()
	s, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		if !t.Failed() {
			compareWithEtcd(t, s)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s
}

func testStore(t testing.TB) *Store {
	return run(t, Options{Client: shared.client, Prefix: shared.Prefix(t)})
}

func deadline(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// compareWithEtcd compares the cache with etcd, byte for byte.
func compareWithEtcd(t testing.TB, s *Store) {
	t.Helper()
	ctx := deadline(t)
	if revision, err := s.CurrentRevision(ctx); err != nil || s.WaitForRevision(ctx, revision) != nil {
		t.Errorf("the feed does not reach revision %d: %v", revision, err)
	}
	for _, r := range s.all() {
		r.mu.RLock()
		cold := r.cache == nil
		r.mu.RUnlock()
		if cold {
			continue
		}
		if err := r.warm(ctx); err != nil { // it may be loading
			t.Errorf("%s: %v", r.name, err)
		}
		checked, err := r.Check(ctx, nil)
		if err == nil {
			err = checked.Err()
		}
		if err != nil {
			t.Errorf("%s: %v", r.name, err)
		}
		var bytes int64
		r.mu.RLock()
		r.cache.entries.Scan(func(e *Entry) bool { bytes += e.size(); return true })
		if bytes != r.cache.bytes || len(r.pending) != 0 {
			t.Errorf("%s: %d bytes counted as %d; %d writes still pending", r.name, bytes, r.cache.bytes,
				len(r.pending))
		}
		r.mu.RUnlock()
	}
}

func compareSnapshots(t testing.TB, ctx context.Context, got, want *Snapshot) {
	t.Helper()
	g, w := entries(t, ctx, got, "", ""), entries(t, ctx, want, "", "")
	if len(g) != len(w) {
		t.Errorf("%s at %d: %d entries, etcd has %d", got.resource.name, got.Revision, len(g), len(w))
		return
	}
	for i := range g {
		if g[i].Key != w[i].Key || g[i].Revision != w[i].Revision || string(g[i].Value) != string(w[i].Value) ||
			g[i].created != w[i].created {
			t.Errorf("%s at %d: entry %+v, etcd has %+v", got.resource.name, got.Revision, g[i], w[i])
		}
	}
}

func entries(t testing.TB, ctx context.Context, s *Snapshot, prefix, start string) []*Entry {
	t.Helper()
	var all []*Entry
	for e, err := range s.Ascend(ctx, prefix, start) {
		if err != nil {
			t.Errorf("reading at %d: %v", s.Revision, err)
			return nil
		}
		all = append(all, e)
	}
	return all
}

func putting(value string) Mutate {
	return func(context.Context, *Entry) (Change, error) { return Change{Op: Put, Value: []byte(value)}, nil }
}

func deleting(context.Context, *Entry) (Change, error) { return Change{Op: Delete}, nil }

func put(t testing.TB, r *Resource, key, value string) *Entry {
	t.Helper()
	return update(t, r, key, putting(value))
}

func remove(t testing.TB, r *Resource, key string) *Entry {
	t.Helper()
	return update(t, r, key, deleting)
}

func update(t testing.TB, r *Resource, key string, mutate Mutate) *Entry {
	t.Helper()
	e, err := r.Update(deadline(t), key, mutate, UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func snapshot(t testing.TB, r *Resource, at ReadAt) *Snapshot {
	t.Helper()
	s, err := r.Snapshot(deadline(t), at)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func watch(t testing.TB, r *Resource, after int64) *Watcher {
	t.Helper()
	w, err := r.Watch(deadline(t), after)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

// next returns the next n events.
func next(t testing.TB, w *Watcher, n int) []Event {
	t.Helper()
	var events []Event
	for len(events) < n {
		batch, err := w.Next(deadline(t))
		if err != nil {
			t.Fatalf("after %d of %d events: %v", len(events), n, err)
		}
		events = append(events, batch...)
	}
	if len(events) != n {
		t.Fatalf("got %d events, want %d", len(events), n)
	}
	return events
}
