package dynamicstorage

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

var (
	propertyTime = flag.Duration("property.time", 4*time.Second, "how long the property test runs")
	propertySeed = flag.Uint64("property.seed", 0, "seed of the property test; 0: another one each time")
)

// TestProperties writes, reads and watches at random through several stores, while connections break and etcd is compacted.
// Everything that was seen is noted, and compared at the end with the history as etcd has told it to a watch
// of its own:
//
//   - a write follows what it was made of, and is in the history once;
//   - a read is the exact state of its revision, and that is as new as it has to be;
//   - a watch has every event after its beginning, once, in order, with the right object before;
//   - the revision of a watcher covers nothing that it has not returned.
func TestProperties(t *testing.T) {
	seed := *propertySeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-property.seed=%d", seed)
	p := &property{t: t, etcd: ownEtcd(t)}
	p.stores = []*observed{
		{Store: run(t, Options{Client: p.etcd.client, Prefix: "/p", RingEvents: 20}), strict: true},
		{Store: run(t, Options{Client: p.etcd.client, Prefix: "/p", Transform: nil, KeptSnapshots: 2, KeepFor: 50 * time.Millisecond}), strict: true},
		{Store: run(t, Options{Client: p.etcd.through(t), Prefix: "/p", WaitFor: 100 * time.Millisecond})},
		{Store: run(t, Options{Client: p.etcd.through(t), Prefix: "/p", RingEvents: 50, RingBytes: 3000})},
	}
	var recorded sync.WaitGroup
	ctx, stopRecording := context.WithCancel(context.Background())
	p.start = must1(p.stores[0].CurrentRevision(ctx))
	history := p.etcd.client.Watch(ctx, "/p/", clientv3.WithPrefix(), clientv3.WithRev(p.start+1), clientv3.WithCreatedNotify())
	<-history
	recorded.Go(func() { p.record(history) })
	p.newest.Store(p.start)

	random := func(n int) *rand.Rand { return rand.New(rand.NewPCG(seed, uint64(n))) }
	ctx, cancel := context.WithTimeout(context.Background(), *propertyTime)
	defer cancel()
	var running sync.WaitGroup
	for n, store := range p.stores {
		running.Go(func() { p.write(ctx, store, random(10*n)) })
		running.Go(func() { p.read(ctx, store, random(10*n+1)) })
		for i := range 3 {
			running.Go(func() { p.watch(ctx, store, random(10*n+2+i)) })
		}
	}
	running.Go(func() { p.disturb(ctx, random(1000)) })
	running.Wait()
	p.etcd.proxy.open()
	last := must1(p.etcd.client.Put(context.Background(), "/p/g/end/x", "")).Header.Revision
	for p.recordedTo.Load() < last {
		time.Sleep(time.Millisecond)
	}
	stopRecording()
	recorded.Wait()
	p.check()
}

func must1[T any](v T, err error) T {
	must(err)
	return v
}

// property is one run of the test.
type property struct {
	t      *testing.T
	etcd   *testEtcd
	stores []*observed
	start  int64
	// newest is the newest revision that somebody has seen; compacted is the newest that was compacted.
	newest, compacted atomic.Int64
	recordedTo        atomic.Int64

	// mu guards the fields below.
	mu      sync.Mutex
	history []fact
	writes  []fact
	reads   []reading
	watches []*watching
}

// observed is a store. A strict one never loses events.
type observed struct {
	*Store
	strict bool
}

// fact is an event: a value stored, or a deletion.
type fact struct {
	resource, key, value string
	revision, prev       int64
	deleted              bool
}

// reading is what a read has returned.
type reading struct {
	resource string
	revision int64
	entries  []*Entry
}

// watching is what a watcher has returned.
type watching struct {
	resource string
	strict   bool
	after    int64
	events   []Event
	marks    []mark
	err      error
	// compacted is the newest compaction when the watch ended.
	compacted int64
}

// mark is a revision of a watcher after a number of events.
type mark struct {
	events   int
	revision int64
}

func (p *property) record(history clientv3.WatchChan) {
	for resp := range history {
		for _, e := range resp.Events {
			parts := strings.SplitN(string(e.Kv.Key), "/", 5)
			p.history = append(p.history, fact{resource: parts[3], key: parts[4], value: string(e.Kv.Value), revision: e.Kv.ModRevision,
				deleted: e.Type == clientv3.EventTypeDelete})
			p.recordedTo.Store(e.Kv.ModRevision)
		}
	}
}

func (p *property) seen(revision int64) {
	for {
		old := p.newest.Load()
		if revision <= old || p.newest.CompareAndSwap(old, revision) {
			return
		}
	}
}

func (p *property) resource(store *observed, rnd *rand.Rand) (*Resource, string) {
	plural := []string{"a", "b", "c"}[rnd.IntN(3)]
	return store.Resource("g", plural), plural
}

func randomKey(rnd *rand.Rand) string { return fmt.Sprintf("n%d/%d", rnd.IntN(3), rnd.IntN(4)) }

// revision returns a revision between the start and the newest, mostly a new one.
func (p *property) revision(rnd *rand.Rand) int64 {
	newest := p.newest.Load()
	back := []int64{1, 5, 50, 1 << 30}[rnd.IntN(4)]
	return max(p.start, newest-rnd.Int64N(min(back, newest-p.start+1)))
}

// disturbed says that an error is one that broken connections explain.
func disturbed(err error) bool {
	return errors.Is(err, ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrClosed)
}

func (p *property) write(ctx context.Context, store *observed, rnd *rand.Rand) {
	for n := 0; ctx.Err() == nil; n++ {
		r, plural := p.resource(store, rnd)
		key, value := randomKey(rnd), strings.Repeat(fmt.Sprint(n, " "), 1+rnd.IntN(20))
		remove, f := rnd.IntN(12) == 0, fact{}
		e, err := r.Update(ctx, key, func(_ context.Context, cur *Entry) (Change, error) {
			f = fact{resource: plural, key: key, value: value}
			if cur != nil {
				f.prev = cur.Revision
			}
			if f.deleted = remove; remove {
				f.value = ""
				return Change{Op: Delete}, nil
			}
			return Change{Op: Put, Value: []byte(value)}, nil
		}, UpdateOptions{Fresh: rnd.IntN(5) == 0, Absent: rnd.IntN(5) == 0})
		switch {
		case err == nil:
			f.revision = e.Revision
			p.seen(e.Revision)
			p.mu.Lock()
			p.writes = append(p.writes, f)
			p.mu.Unlock()
		case !disturbed(err) && !errors.Is(err, ErrNotFound):
			p.t.Errorf("write: %v", err)
		}
		if rnd.IntN(20) == 0 {
			_, _ = p.etcd.client.Put(ctx, "/outside", "")
		}
	}
}

func (p *property) read(ctx context.Context, store *observed, rnd *rand.Rand) {
	for ctx.Err() == nil {
		r, plural := p.resource(store, rnd)
		at := ReadAt{Mode: ReadMode(rnd.IntN(4))}
		least := int64(0)
		switch at.Mode {
		case Consistent:
			least = p.newest.Load()
		case NotOlderThan, Exact:
			at.Revision = p.revision(rnd)
			least = at.Revision
		}
		revision, all, err := readOnce(ctx, r, at, rnd)
		switch {
		case err == nil:
			p.seen(revision)
			if revision < least || at.Mode == Exact && revision != least {
				p.t.Errorf("%+v was answered at %d, want %d", at, revision, least)
			}
			p.mu.Lock()
			p.reads = append(p.reads, reading{resource: plural, revision: revision, entries: all})
			p.mu.Unlock()
		case errors.Is(err, ErrCompacted) && (at.Mode != Exact || at.Revision < p.compacted.Load()):
			// A consistent read of an etcd far ahead of the feed may be compacted on its way, too.
		case errors.Is(err, ErrFutureRevision) && !store.strict:
		case !disturbed(err):
			p.t.Errorf("read %+v: %v, compacted %d", at, err, p.compacted.Load())
		}
	}
}

// readOnce reads all entries, in one of several ways.
func readOnce(ctx context.Context, r *Resource, at ReadAt, rnd *rand.Rand) (int64, []*Entry, error) {
	s, err := r.Snapshot(ctx, at)
	if err != nil {
		return 0, nil, err
	}
	if rnd.IntN(3) == 0 {
		s.Keep()
	}
	var all []*Entry
	start := ""
	for { // in pages, of the same revision each
		n, more := 1+rnd.IntN(10), false
		for e, err := range s.Ascend(ctx, "", start) {
			if err != nil {
				return 0, nil, err
			}
			if n--; n < 0 {
				more, start = true, e.Key
				break
			}
			all = append(all, e)
		}
		if !more {
			return s.Revision, all, nil
		}
		if s, err = r.Snapshot(ctx, ReadAt{Mode: Exact, Revision: s.Revision}); err != nil {
			return 0, nil, err
		}
	}
}

func (p *property) watch(ctx context.Context, store *observed, rnd *rand.Rand) {
	for ctx.Err() == nil {
		r, plural := p.resource(store, rnd)
		seen := &watching{resource: plural, strict: store.strict, after: p.revision(rnd)}
		w, err := r.Watch(ctx, seen.after)
		if err != nil {
			if !disturbed(err) {
				p.t.Errorf("watch: %v", err)
			}
			continue
		}
		until := time.Duration(rnd.Int64N(int64(time.Second)))
		part, cancel := context.WithTimeout(ctx, until)
		for seen.err == nil {
			var batch []Event
			step, stop := context.WithTimeout(part, time.Duration(rnd.IntN(20))*time.Millisecond)
			batch, seen.err = w.Next(step)
			stop()
			if part.Err() == nil && errors.Is(seen.err, context.DeadlineExceeded) {
				seen.err = nil
			}
			seen.events = append(seen.events, batch...)
			seen.marks = append(seen.marks, mark{len(seen.events), w.Revision()})
			if rnd.IntN(10) == 0 { // slow
				time.Sleep(time.Duration(rnd.IntN(30)) * time.Millisecond)
			}
		}
		seen.compacted = p.compacted.Load()
		cancel()
		w.Close()
		p.mu.Lock()
		p.watches = append(p.watches, seen)
		p.mu.Unlock()
	}
}

// disturb breaks connections, compacts, releases resources, and closes views.
func (p *property) disturb(ctx context.Context, rnd *rand.Rand) {
	for ctx.Err() == nil {
		time.Sleep(time.Duration(rnd.IntN(60)) * time.Millisecond)
		switch rnd.IntN(6) {
		case 0:
			p.etcd.proxy.cut(false)
		case 1: // the stores behind the proxy lose events
			p.etcd.proxy.cut(true)
			time.Sleep(time.Duration(rnd.IntN(60)) * time.Millisecond)
			p.compact(ctx, p.newest.Load())
			p.etcd.proxy.open()
		case 2:
			p.compact(ctx, p.revision(rnd))
		case 3:
			store := p.stores[rnd.IntN(len(p.stores))]
			r, _ := p.resource(store, rnd)
			r.Release()
		}
	}
}

func (p *property) compact(ctx context.Context, revision int64) {
	// Strict stores must have seen what is compacted.
	for _, s := range p.stores {
		if s.strict && s.WaitForRevision(ctx, revision) != nil {
			return
		}
	}
	if revision > p.compacted.Load() {
		p.compacted.Store(revision)
		_, _ = p.etcd.client.Compact(ctx, revision)
	}
}

// check compares what was seen with the history.
func (p *property) check() {
	t := p.t
	t.Logf("%d events, %d writes, %d reads, %d watches", len(p.history), len(p.writes), len(p.reads), len(p.watches))
	m := newModel(p.history)
	for _, f := range p.writes {
		if i, ok := m.at[f.revision]; !ok || p.history[i] != f {
			t.Errorf("write %+v is not in the history: %+v", f, p.history[i])
		}
	}
	for _, r := range p.reads {
		if got, want := render(r.entries), m.state(r.resource, r.revision); got != want {
			t.Errorf("%s at %d:\ngot  %s\nwant %s", r.resource, r.revision, got, want)
		}
	}
	compacted, complete := 0, 0
	for _, w := range p.watches {
		if errors.Is(w.err, ErrCompacted) {
			compacted++
			if w.strict && w.after >= w.compacted {
				t.Errorf("watch after %d ended as compacted, that is %d", w.after, w.compacted)
			}
		} else if !disturbed(w.err) && !errors.Is(w.err, context.Canceled) {
			t.Errorf("watch: %v", w.err)
		}
		if m.watched(t, w) {
			complete++
		}
	}
	t.Logf("%d watches with every event, %d ended as compacted", complete, compacted)
	if complete < len(p.watches)/2 {
		t.Error("the test does not test much")
	}
}
