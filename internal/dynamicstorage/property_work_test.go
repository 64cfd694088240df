package dynamicstorage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// The random operations of the property test.

func (p *property) record(history clientv3.WatchChan) {
	for resp := range history {
		for _, e := range resp.Events {
			parts := strings.SplitN(string(e.Kv.Key), "/", 5)
			p.history = append(p.history, fact{resource: parts[3], key: parts[4], value: p.value(e.Kv.Value),
				revision: e.Kv.ModRevision,
				deleted:  e.Type == clientv3.EventTypeDelete})
			p.recordedTo.Store(e.Kv.ModRevision)
		}
	}
}

// value returns the value that is stored as data.
func (p *property) value(data []byte) string {
	if p.transform {
		data = bytes.TrimPrefix(data, []byte(mark))
	}
	return string(data)
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

// disturbed reports whether broken connections may cause an error.
func disturbed(err error) bool {
	return errors.Is(err, ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrClosed)
}

func (p *property) write(ctx context.Context, store *observed, rnd *rand.Rand) {
	for n := 0; ctx.Err() == nil; n++ {
		r, plural := p.resource(store, rnd)
		key, value := randomKey(rnd), strings.Repeat(fmt.Sprint(n, " "), 1+rnd.IntN(20))
		op, f := []Op{Put, Put, Put, Put, Put, Put, Put, Put, Delete, Keep}[rnd.IntN(10)], fact{}
		began := p.newest.Load()
		e, err := r.Update(ctx, key, func(_ context.Context, cur *Entry) (Change, error) {
			f = fact{resource: plural, key: key, value: value, deleted: op == Delete}
			if cur != nil {
				f.prev = cur.Revision
			}
			if op == Delete {
				f.value = ""
			}
			return Change{Op: op, Value: []byte(value)}, nil
		}, UpdateOptions{Fresh: rnd.IntN(5) == 0, Absent: rnd.IntN(5) == 0})
		switch {
		case err == nil && op == Keep:
			p.glimpsed(ctx, store, &glimpse{resource: plural, key: key, entry: e, from: began})
		case err == nil:
			f.revision = e.Revision
			p.seen(e.Revision)
			p.mu.Lock()
			p.writes = append(p.writes, f)
			p.mu.Unlock()
		case errors.Is(err, ErrNotFound):
			p.glimpsed(ctx, store, &glimpse{resource: plural, key: key, from: began})
		case !disturbed(err):
			p.t.Errorf("write: %v", err)
		}
		if rnd.IntN(20) == 0 {
			_, _ = p.etcd.client.Put(ctx, "/outside", "")
		}
	}
}

// glimpsed records an observation of a key between a revision and now.
func (p *property) glimpsed(ctx context.Context, store *observed, g *glimpse) {
	var err error
	if g.to, err = p.stores[0].CurrentRevision(ctx); err != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.glimpses = append(p.glimpses, g)
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
		seen, gone := reading{resource: plural}, at.Mode == Exact && at.Revision < store.CompactedRevision()
		var err error
		switch rnd.IntN(3) {
		case 0:
			err = seen.get(ctx, r, at, rnd)
		case 1:
			err = seen.list(ctx, r, at, rnd)
		case 2:
			err = seen.selectFrom(ctx, r, at, store.viewer.Load(), rnd)
		}
		if err == nil {
			err = p.view(ctx, store, seen.entries)
		}
		switch {
		case gone && err == nil:
			p.t.Errorf("%+v was answered although it is known as compacted", at)
		case err == nil:
			p.seen(seen.revision)
			if seen.revision < least || at.Mode == Exact && seen.revision != least {
				p.t.Errorf("%+v was answered at %d, want %d", at, seen.revision, least)
			}
			p.mu.Lock()
			p.reads = append(p.reads, seen)
			p.mu.Unlock()
		case errors.Is(err, ErrCompacted) && seen.revision < p.compacted.Load():
			// A page, or a consistent read from etcd, may be compacted before it is read.
		case errors.Is(err, ErrFutureRevision) && !store.strict:
		case !disturbed(err):
			p.t.Errorf("read %+v at %d: %v, compacted %d", at, seen.revision, err, p.compacted.Load())
		}
	}
}

// view makes views of entries.
func (p *property) view(ctx context.Context, store *observed, entries []*Entry) error {
	views, err := store.viewer.Load().Views(ctx, entries)
	if err != nil {
		return err
	}
	for n, e := range entries {
		if !bytes.Equal(views[n].Bytes, e.Value) {
			p.t.Errorf("view of %s@%d: %q, want %q", e.Key, e.Revision, views[n].Bytes, e.Value)
		}
	}
	return nil
}

// get reads one key.
func (seen *reading) get(ctx context.Context, r *Resource, at ReadAt, rnd *rand.Rand) error {
	seen.prefix, seen.revision = randomKey(rnd), at.Revision
	e, revision, err := r.Get(ctx, seen.prefix, at)
	if errors.Is(err, ErrNotFound) {
		seen.revision = revision
		return nil
	}
	if err == nil {
		seen.revision, seen.entries = revision, []*Entry{e}
	}
	return err
}

// list reads all entries, or those of a namespace, in pages of the same revision.
func (seen *reading) list(ctx context.Context, r *Resource, at ReadAt, rnd *rand.Rand) error {
	seen.prefix, seen.revision = []string{"", "n0/", "n1/"}[rnd.IntN(3)], at.Revision
	s, err := r.Snapshot(ctx, at)
	start := ""
	for err == nil {
		seen.revision = s.Revision
		n, more := 1+rnd.IntN(10), false
		for e, err := range s.Ascend(ctx, seen.prefix, start) {
			if err != nil {
				return err
			}
			if n--; n < 0 {
				more, start = true, e.Key
				break
			}
			seen.entries = append(seen.entries, e)
		}
		if !more {
			return nil
		}
		if err := seen.countRest(ctx, s, start); err != nil {
			return err
		}
		s, err = r.Snapshot(ctx, ReadAt{Mode: Exact, Revision: s.Revision})
	}
	return err
}

// selectFrom reads the entries whose values begin in some way, as views say.
func (seen *reading) selectFrom(ctx context.Context, r *Resource, at ReadAt, viewer *Viewer, rnd *rand.Rand) error {
	seen.prefix, seen.revision, seen.first = []string{"", "n0/"}[rnd.IntN(2)], at.Revision, fmt.Sprint(1+rnd.IntN(9))
	s, err := r.Snapshot(ctx, at)
	if err != nil {
		return err
	}
	seen.revision = s.Revision
	q := Query{Viewer: viewer, Prefix: seen.prefix, Requirements: []Requirement{{Kind: Field, Name: "first",
		Values: []string{seen.first}}}}
	for e, err := range s.Select(ctx, q) {
		if err != nil {
			return err
		}
		view, err := viewer.View(ctx, e)
		if err != nil {
			return err
		}
		if view.Fields.Get("first") == seen.first {
			seen.entries = append(seen.entries, e)
		}
	}
	return nil
}

var errCount = errors.New("wrong count")

// countRest compares the number of entries after the last one with what follows.
func (seen *reading) countRest(ctx context.Context, s *Snapshot, start string) error {
	n, err := s.Count(ctx, seen.prefix, seen.entries[len(seen.entries)-1].Key)
	if err != nil {
		return err
	}
	for _, err := range s.Ascend(ctx, seen.prefix, start) {
		if err != nil {
			return err
		}
		n--
	}
	if n != 0 {
		return fmt.Errorf("%w: %d after %s at %d", errCount, n, start, s.Revision)
	}
	return nil
}

// checkMemory compares resources with etcd.
func (p *property) checkMemory(ctx context.Context, store *observed, rnd *rand.Rand) {
	for ctx.Err() == nil {
		r, _ := p.resource(store, rnd)
		checked, err := r.Check(ctx, func(ctx context.Context) error {
			time.Sleep(time.Duration(rnd.IntN(10)) * time.Millisecond)
			return ctx.Err()
		})
		switch {
		case errors.Is(err, ErrNotLoaded):
			_ = r.warm(ctx) // fails while connections are broken
		case err != nil:
			if !disturbed(err) && !errors.Is(err, ErrCompacted) {
				p.t.Errorf("comparing with etcd: %v", err)
			}
		case checked.Err() != nil:
			p.t.Error(checked.Err())
		default:
			p.mu.Lock()
			p.compared++
			p.mu.Unlock()
		}
	}
}

func (p *property) watch(ctx context.Context, store *observed, rnd *rand.Rand) {
	for ctx.Err() == nil {
		r, plural := p.resource(store, rnd)
		keys := []string{"", "", "n0/", "n1/", randomKey(rnd)}[rnd.IntN(5)]
		seen := &watching{resource: plural, keys: keys, strict: store.strict, after: p.revision(rnd)}
		if rnd.IntN(10) == 0 { // the future
			seen.after = p.newest.Load() + rnd.Int64N(10)
		}
		w, err := r.WatchKeys(ctx, seen.keys, seen.after)
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
			seen.marks = append(seen.marks, standing{len(seen.events), w.Revision()})
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
