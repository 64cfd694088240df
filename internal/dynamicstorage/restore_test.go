package dynamicstorage

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/crd-server/crd-server/internal/etcdtest"
)

// TestRestoredEtcd checks that the store notices when another history stands behind the address of etcd: all watchers
// end, and reads return what the etcd there has.
func TestRestoredEtcd(t *testing.T) {
	t.Parallel()
	e := ownEtcd(t)
	for name, restored := range map[string]func(t *testing.T, known int64) *etcdtest.Etcd{
		// From a snapshot, without options.
		"gone back": func(t *testing.T, _ int64) *etcdtest.Etcd { return writtenEtcd(t, 3) },
		// The same, but others have written to it since.
		"overtaken": func(t *testing.T, known int64) *etcdtest.Etcd { return writtenEtcd(t, known+5) },
		// From a snapshot, with --bump-revision --mark-compacted.
		"compacted": func(t *testing.T, known int64) *etcdtest.Etcd {
			other := writtenEtcd(t, known+5)
			if _, err := other.Client.Compact(deadline(t), known+5); err != nil {
				t.Fatal(err)
			}
			return other
		},
		"another cluster": func(t *testing.T, known int64) *etcdtest.Etcd {
			return writtenEtcd(t, known, func(c *embed.Config) { c.InitialClusterToken = "another" })
		},
	} {
		t.Run(name, func(t *testing.T) {
			var other *etcdtest.Etcd
			t.Cleanup(func() { other.Stop() }) // after the store has been compared with it
			proxy := startProxy(t.TempDir()+"/proxy", e.Addr().String())
			t.Cleanup(proxy.stop)
			s := run(t, Options{Client: proxy.dial(t), Prefix: "/x"})
			aside := run(t, Options{Client: e.client, Prefix: "/x"}).Resource("g", "p")
			r, quiet := s.Resource("g", "p"), s.Resource("g", "quiet")
			put(t, aside, "changed", "before")
			put(t, aside, "vanished", "before")
			known := snapshot(t, r, ReadAt{}).Revision
			watchers := []*Watcher{watch(t, r, known), watch(t, quiet, known)}
			put(t, aside, "last", name)
			next(t, watchers[0], 1)
			_, err := e.client.Compact(deadline(t), known)
			if err = errors.Join(err, s.UpdateCompactedRevision(deadline(t))); err != nil || s.CompactedRevision() != known {
				t.Fatalf("%d is compacted instead of %d: %v", s.CompactedRevision(), known, err)
			}

			proxy.cut(true)
			other = restored(t, s.feed.current())
			proxy.redirect(other.Addr().String())
			proxy.open()
			for _, w := range watchers {
				if events, err := w.Next(deadline(t)); !errors.Is(err, ErrCompacted) {
					t.Errorf("%s, %v", describe(events), err)
				}
			}
			if got := entries(t, deadline(t), snapshot(t, r, ReadAt{}), "", ""); len(got) != 1 ||
				string(got[0].Value) != "written" {
				t.Errorf("%+v", got)
			}
			if err := s.UpdateCompactedRevision(deadline(t)); err != nil || s.CompactedRevision() != 0 && name != "compacted" ||
				s.CompactedRevision() <= known && name == "compacted" {
				t.Errorf("%d is compacted, before it was %d: %v", s.CompactedRevision(), known, err)
			}
			again := watch(t, r, snapshot(t, r, ReadAt{}).Revision)
			put(t, r, "changed", "after")
			if events := next(t, again, 1); string(events[0].Prev.Value) != "written" {
				t.Errorf("%s", describe(events))
			}
		})
	}
}

// writtenEtcd returns an etcd in which one object was written until the revision was reached.
func writtenEtcd(t *testing.T, revision int64, configure ...func(*embed.Config)) *etcdtest.Etcd {
	t.Helper()
	e := etcdtest.Start(configure...)
	for reached := int64(0); reached < revision; {
		resp, err := e.Client.Put(deadline(t), "/x/g/p/changed", "written")
		if err != nil {
			t.Fatal(err)
		}
		reached = resp.Header.Revision
	}
	return e
}

// TestReconnectedWatch checks that watchers go on without a gap when the connection to the same etcd was lost, also
// when etcd has compacted the last change meanwhile.
func TestReconnectedWatch(t *testing.T) {
	t.Parallel()
	e := ownEtcd(t)
	for _, last := range []string{"put", "delete", "none"} {
		for _, compacted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, compacted %v", last, compacted), func(t *testing.T) {
				s := run(t, Options{Client: e.proxy.dial(t), Prefix: "/" + t.Name()})
				aside := run(t, Options{Client: e.client, Prefix: s.prefix}).Resource("g", "p")
				r := s.Resource("g", "p")
				start := put(t, aside, "x", "1").Revision
				w := watch(t, r, start)
				switch last {
				case "put":
					put(t, aside, "x", "2")
					next(t, w, 1)
				case "delete":
					remove(t, aside, "x")
					next(t, w, 1)
				}
				resp, err := e.client.Put(deadline(t), "/outside", "")
				if err != nil {
					t.Fatal(err)
				}
				if err := s.WaitForRevision(deadline(t), resp.Header.Revision); err != nil {
					t.Fatal(err)
				}
				if compacted {
					if _, err := e.client.Compact(deadline(t), resp.Header.Revision); err != nil {
						t.Fatal(err)
					}
				}
				e.proxy.cut(false)
				put(t, aside, "x", "3")
				if events := next(t, w, 1); string(events[0].Entry.Value) != "3" || (events[0].Prev == nil) != (last == "delete") {
					t.Errorf("%s", describe(events))
				}
			})
		}
	}
}

// TestCheckFindsRestore checks that a comparison with etcd finds that etcd has gone back, if the feed has not noticed.
func TestCheckFindsRestore(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	r := s.Resource("g", "p")
	put(t, r, "x", "1")
	w := watch(t, r, snapshot(t, r, ReadAt{}).Revision)
	known := s.feed.current()
	s.feed.move(known + 1_000_000) // the revision of the feed before the restore
	checked, err := r.Check(deadline(t), nil)
	if err != nil || !errors.Is(checked.Err(), ErrInconsistent) {
		t.Errorf("%+v, %v", checked, err)
	}
	if _, err := w.Next(deadline(t)); !errors.Is(err, ErrCompacted) {
		t.Errorf("%v", err)
	}
	if got := entries(t, deadline(t), snapshot(t, r, ReadAt{}), "", ""); len(got) != 1 {
		t.Errorf("%+v", got)
	}
	if now := s.feed.current(); now < known || now > known+500_000 {
		t.Errorf("the feed is at %d, was at %d", now, known)
	}
}

// TestOutage checks what works while etcd does not answer, and afterwards.
func TestOutage(t *testing.T) {
	t.Parallel()
	proxy := startProxy(t.TempDir()+"/proxy", shared.Addr().String())
	t.Cleanup(proxy.stop)
	s := run(t, Options{Client: proxy.dial(t), Prefix: shared.Prefix(t)})
	r, cold := s.Resource("g", "p"), s.Resource("g", "cold")
	known := put(t, r, "x", "1").Revision
	w := watch(t, r, snapshot(t, r, ReadAt{}).Revision)
	becomesReady(t, s)

	learnt, stop := s.outage.whileAnswering(deadline(t))
	defer stop()
	proxy.cut(true)
	<-learnt.Done() // without a request
	get := func(r *Resource, at ReadAt) func(context.Context) error {
		return func(ctx context.Context) error { _, _, err := r.Get(ctx, "x", at); return err }
	}
	list := func(r *Resource, at ReadAt) func(context.Context) error {
		return func(ctx context.Context) error { _, err := r.Snapshot(ctx, at); return err }
	}
	change := func(r *Resource, mutate Mutate, options UpdateOptions) func(context.Context) error {
		return func(ctx context.Context) error { _, err := r.Update(ctx, "x", mutate, options); return err }
	}
	for name, request := range map[string]func(context.Context) error{
		"get":          get(r, ReadAt{}),
		"get, cold":    get(cold, ReadAt{Mode: Any}),
		"list":         list(r, ReadAt{}),
		"list, newer":  list(r, ReadAt{Mode: NotOlderThan, Revision: known + 1e6}),
		"list, cold":   list(cold, ReadAt{Mode: Any}),
		"write":        change(r, putting("2"), UpdateOptions{}),
		"creation":     change(cold, putting("2"), UpdateOptions{Absent: true}),
		"confirmation": change(r, keeping, UpdateOptions{}),
		"ready":        s.Ready,
	} {
		if err := request(deadline(t)); !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrUnconfirmed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, at := range []ReadAt{{Mode: Any}, {Mode: NotOlderThan, Revision: known}, {Mode: Exact, Revision: known}} {
		if got, _, err := r.Get(deadline(t), "x", at); err != nil || string(got.Value) != "1" {
			t.Errorf("%+v: %+v, %v", at, got, err)
		}
	}
	proxy.open()
	becomesReady(t, s)
	put(t, r, "x", "3")
	next(t, w, 1)
}

func keeping(context.Context, *Entry) (Change, error) { return Change{}, nil }

// TestUnconfirmedWrite checks the error of a write whose connection is lost before etcd has answered.
func TestUnconfirmedWrite(t *testing.T) {
	t.Parallel()
	client := clientv3.NewCtxClient(context.Background())
	client.KV, client.Watcher = losingAnswers{shared.client.KV}, shared.client.Watcher
	s := run(t, Options{Client: client, Prefix: shared.Prefix(t)})
	_, err := s.Resource("g", "p").Update(deadline(t), "x", putting("1"), UpdateOptions{})
	if !errors.Is(err, ErrUnconfirmed) || !errors.Is(err, ErrUnavailable) {
		t.Error(err)
	}
	if got, _, err := s.Resource("g", "p").Get(deadline(t), "x", ReadAt{}); err != nil || string(got.Value) != "1" {
		t.Errorf("%+v, %v", got, err)
	}
}

// losingAnswers carries out transactions, and loses the answers.
type losingAnswers struct{ clientv3.KV }

func (l losingAnswers) Txn(ctx context.Context) clientv3.Txn { return losingTxn{l.KV.Txn(ctx)} }

type losingTxn struct{ clientv3.Txn }

func (l losingTxn) If(compares ...clientv3.Cmp) clientv3.Txn { return losingTxn{l.Txn.If(compares...)} }
func (l losingTxn) Then(ops ...clientv3.Op) clientv3.Txn     { return losingTxn{l.Txn.Then(ops...)} }
func (l losingTxn) Else(ops ...clientv3.Op) clientv3.Txn     { return losingTxn{l.Txn.Else(ops...)} }

func (l losingTxn) Commit() (*clientv3.TxnResponse, error) {
	if _, err := l.Txn.Commit(); err != nil {
		return nil, err
	}
	return nil, status.Error(codes.Unavailable, "error reading from server: EOF")
}

// TestReadsOutOfSync checks that a consistent read goes to etcd while the feed does not follow it, although the cache
// has the revision of etcd, which may have been restored.
func TestReadsOutOfSync(t *testing.T) {
	t.Parallel()
	e := ownEtcd(t)
	var shut atomic.Bool
	s := run(t, Options{Client: e.client, Prefix: "/x", WaitFor: 10 * time.Millisecond,
		NewWatcher: func() clientv3.Watcher { return gatedWatcher{sharedWatcher{e.client.Watcher}, &shut} }})
	r := s.Resource("g", "p")
	if err := s.WaitForRevision(deadline(t), put(t, r, "x", "1").Revision); err != nil {
		t.Fatal(err)
	}
	becomesReady(t, s)
	if err := r.warm(deadline(t)); err != nil {
		t.Fatal(err)
	}
	shut.Store(true)
	s.feed.suspect()
	if got := snapshot(t, r, ReadAt{}); got.entries != nil || len(entries(t, deadline(t), got, "", "")) != 1 {
		t.Errorf("read from memory at %d", got.Revision)
	}
	shut.Store(false)
	becomesReady(t, s)
	if got := snapshot(t, r, ReadAt{}); got.entries == nil {
		t.Errorf("read from etcd at %d although the feed is in sync", got.Revision)
	}
}

// gatedWatcher begins no watch while it is shut.
type gatedWatcher struct {
	clientv3.Watcher
	shut *atomic.Bool
}

func (w gatedWatcher) Watch(ctx context.Context, key string, options ...clientv3.OpOption) clientv3.WatchChan {
	if !w.shut.Load() {
		return w.Watcher.Watch(ctx, key, options...)
	}
	<-ctx.Done()
	none := make(chan clientv3.WatchResponse)
	close(none)
	return none
}
