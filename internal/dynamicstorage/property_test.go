package dynamicstorage

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/time/rate"
)

var (
	propertyTime = flag.Duration("property.time", 4*time.Second, "how long the property test runs")
	propertySeed = flag.Uint64("property.seed", 0, "seed of the property test; 0: another one each time")
)

// TestProperties writes, reads and watches at random through several stores, while connections break and etcd is
// compacted. It records all results and compares them at the end with the history, which it gets from a watch of
// etcd:
//
//   - a write follows the entry it was computed from, and is in the history once;
//   - a read returns the exact state of its revision, whole or in pages, and the revision is as new as requested;
//   - a state that the store knows as compacted is not read;
//   - an update that kept an entry has read one that existed at some moment of the update;
//   - a view belongs to its entry;
//   - a watch returns every event after its beginning, once, in order, with the right previous object;
//   - the revision of a watcher covers no event that it has not returned.
//
// The caches are compared with etcd meanwhile and at the end.
func TestProperties(t *testing.T) {
	t.Parallel()
	seed := *propertySeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-property.seed=%d", seed)
	p := &property{t: t, etcd: ownEtcd(t), transform: seed%2 == 0}
	p.stores = []*observed{
		p.open(true, Options{RingEvents: 20}),
		p.open(true, Options{IdleFor: time.Second}),
		p.open(false, Options{WaitFor: 100 * time.Millisecond}),
		p.open(false, Options{RingEvents: 50, RingBytes: 3000}),
	}
	for _, store := range p.stores[1:] {
		for n, plural := range propertyResources {
			// watchers queue
			store.Resource("g", plural).deliveries.limit = rate.Every(time.Duration(1+n) * time.Millisecond)
		}
	}
	var recorded sync.WaitGroup
	ctx, stopRecording := context.WithCancel(context.Background())
	p.start = must1(p.stores[0].CurrentRevision(ctx))
	history := p.etcd.client.Watch(ctx, "/p/", clientv3.WithPrefix(), clientv3.WithRev(p.start+1),
		clientv3.WithCreatedNotify())
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
		for i := range 6 {
			running.Go(func() { p.watch(ctx, store, random(10*n+2+i)) })
		}
		running.Go(func() { p.checkMemory(ctx, store, random(10*n+9)) })
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
	// transform: values are stored in another form.
	transform bool
	// newest is the newest revision that was observed, compacted the newest that was compacted.
	newest, compacted atomic.Int64
	recordedTo        atomic.Int64

	// mu guards the fields below.
	mu       sync.Mutex
	history  []fact
	writes   []fact
	reads    []reading
	glimpses []*glimpse
	watches  []*watching
	compared int // comparisons of resources with etcd
}

var propertyResources = []string{"a", "b", "c"}

// observed is a store. A strict one never loses events.
type observed struct {
	*Store
	strict bool
	viewer atomic.Pointer[Viewer]
}

// open runs a store. The connections of a strict one never break.
func (p *property) open(strict bool, options Options) *observed {
	options.Client, options.Prefix = p.etcd.client, "/p"
	if !strict {
		options.Client = p.etcd.proxy.dial(p.t)
	}
	if p.transform {
		options.Transform = marked{}
	}
	store := &observed{Store: run(p.t, options), strict: strict}
	store.viewer.Store(newEcho())
	return store
}

// newEcho returns a viewer whose views are the values.
func newEcho() *Viewer {
	return NewViewer(func(_ context.Context, entries []*Entry) ([]*View, error) {
		views := make([]*View, len(entries))
		for n, e := range entries {
			views[n] = &View{Bytes: e.Value, Fields: PairsOf(map[string]string{"first": first(e)})}
		}
		return views, nil
	})
}

// first returns the field that entries are selected by: the first byte of the value.
func first(e *Entry) string { return string(e.Value[:1]) }

// marked is a Transformer that stores values with a mark.
type marked struct{}

const mark = "mark:"

func (marked) FromStorage(_ context.Context, data []byte, key string) ([]byte, bool, error) {
	value, ok := bytes.CutPrefix(data, []byte(mark))
	if !ok {
		return nil, false, fmt.Errorf("%s has no mark: %q", key, data)
	}
	return value, false, nil
}

func (marked) ToStorage(_ context.Context, value []byte, _ string) ([]byte, error) {
	return append([]byte(mark), value...), nil
}

// fact is an event: a value stored, or a deletion.
type fact struct {
	resource, key, value string
	revision, prev       int64
	deleted              bool
}

// reading is the result of a read of the keys with a prefix, and with a first byte if first is not "".
type reading struct {
	resource, prefix string
	first            string
	revision         int64
	entries          []*Entry
}

// glimpse is an observation of a key at some moment between two revisions.
type glimpse struct {
	resource, key string
	entry         *Entry // nil: nothing
	from, to      int64
}

// watching is the result of a watch.
type watching struct {
	resource string
	keys     string
	strict   bool
	after    int64
	events   []Event
	marks    []standing
	err      error
	// compacted is the newest compaction when the watch ended.
	compacted int64
}

// standing is the revision of a watcher after a number of events.
type standing struct {
	events   int
	revision int64
}

// check compares the results with the history.
func (p *property) check() {
	t := p.t
	t.Logf("%d events, %d writes, %d reads, %d glimpses, %d watches, %d comparisons", len(p.history), len(p.writes),
		len(p.reads),
		len(p.glimpses), len(p.watches), p.compared)
	m := newModel(p.history)
	for _, f := range p.writes {
		if i, ok := m.at[f.revision]; !ok || p.history[i] != f {
			t.Errorf("write %+v is not in the history: %+v", f, p.history[i])
		}
	}
	for _, r := range p.reads {
		wanted := slices.DeleteFunc(m.entries(r.resource, r.revision, r.prefix),
			func(e *Entry) bool { return r.first != "" && first(e) != r.first })
		if got, want := render(r.entries), render(wanted); got != want {
			t.Errorf("%s/%s at %d:\ngot  %s\nwant %s", r.resource, r.prefix, r.revision, got, want)
		}
	}
	for _, g := range p.glimpses {
		if !m.had(g) {
			t.Errorf("%s/%s was %+v at no revision from %d to %d", g.resource, g.key, g.entry, g.from, g.to)
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
	if complete < len(p.watches)/2 || len(p.glimpses) == 0 || p.compared == 0 {
		t.Error("too few results to test much")
	}
}
