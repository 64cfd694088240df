package dynamicstorage

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/klog/v2"
)

// load brings a resource into memory: it reads the resource at one revision, while the feed puts newer events aside,
// and then applies those. As the read begins after the feed's events are put aside, and is linearizable, no event is missing between the two.
type load struct {
	done chan struct{} // closed by finish
	err  error         // set before

	// aside are the events of the feed since the load began. Guarded by the resource's mu.
	aside []*clientv3.Event
	// again: events were lost meanwhile, what was read is of no use. Guarded by the resource's mu.
	again bool
}

// finish tells those who wait how the load ended; it is called once, with the resource's mu held.
func (l *load) finish(err error) {
	l.err = err
	close(l.done)
}

// warm returns when the resource is in memory and up to date with the feed.
func (r *Resource) warm(ctx context.Context) error {
	r.touch()
	for {
		r.mu.RLock()
		warm, l := r.warmLocked(), r.load
		r.mu.RUnlock()
		if warm {
			return nil
		}
		if l == nil {
			l = r.startLoad()
			if l == nil {
				return ErrClosed
			}
		}
		select {
		case <-l.done:
			if l.err != nil {
				return fmt.Errorf("loading %s: %w", r.name, l.err)
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// startLoad starts loading a cold resource, unless that runs already. Nil: it is retired, or the store has stopped.
func (r *Resource) startLoad() *load {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.load != nil {
		return r.load
	}
	if r.cache != nil { // loaded meanwhile
		done := &load{done: make(chan struct{})}
		done.finish(nil)
		return done
	}
	return r.startLoadLocked()
}

func (r *Resource) startLoadLocked() *load {
	if r.retired.Load() {
		return nil
	}
	l := &load{done: make(chan struct{})}
	if !r.store.spawn(func() { r.runLoad(r.store.background, l) }) {
		return nil
	}
	r.load = l
	return l
}

// reload reads the resource anew: the feed has lost events. Cold resources have lost nothing.
func (r *Resource) reload() {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.load != nil:
		r.load.again, r.load.aside = true, nil
	case r.cache != nil:
		r.counts.reloads.Add(1)
		r.frozen = r.revisionLocked(r.store.feed.current())
		r.outdateKeptLocked(r.frozen + 1)
		r.startLoadLocked()
	}
}

// loadPause is the pause after a failed attempt to load a resource that watchers wait for.
const loadPause = 200 * time.Millisecond

// runLoad loads until it succeeds. A first load gives up after an error: its readers are told.
func (r *Resource) runLoad(ctx context.Context, l *load) {
	select {
	case <-r.store.feed.started:
	case <-ctx.Done():
	}
	for {
		finished, err := r.tryLoad(ctx, l)
		if finished {
			return
		}
		if err == nil { // events were lost, at once again
			continue
		}
		r.mu.Lock()
		if r.load == l && (r.cache == nil || ctx.Err() != nil) {
			r.resetLocked(err)
		}
		given := r.load != l
		r.mu.Unlock()
		if given {
			return
		}
		klog.FromContext(ctx).V(1).Info("A resource could not be read again yet", "resource", r.name, "err", err)
		select {
		case <-r.store.options.Clock.After(loadPause):
		case <-ctx.Done():
		}
	}
}

// tryLoad reads the resource and installs it.
func (r *Resource) tryLoad(ctx context.Context, l *load) (finished bool, err error) {
	select {
	case r.store.loads <- struct{}{}:
		defer func() { <-r.store.loads }()
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	r.mu.Lock()
	l.again = false
	r.mu.Unlock()
	entries := newTree()
	revision, err := r.readAll(ctx, func(kv *mvccpb.KeyValue) { entries.Set(r.entry(ctx, kv)) })
	if err != nil {
		r.counts.failedLoads.Add(1)
		return false, err
	}
	fresh := &loaded{cache: newCache(entries, revision)}
	fresh.events, fresh.lost = r.missed(entries)
	for {
		finished, aside := r.install(l, fresh)
		if finished || aside == nil {
			return finished, nil
		}
		r.catchUp(ctx, fresh, aside)
	}
}

// loaded is what a load has read.
type loaded struct {
	cache *cache
	// events are what watchers have missed, if the resource had been loaded before.
	events []Event
	// lost: watchers have missed events that cannot be known any more.
	lost bool
	// since are the events since the read.
	since []Event
}

// missed returns the events between the state before a reload and entries: for every object the net change, at the revision it
// has now. When an object has gone, they cannot be told: the revision of its deletion is unknown, and with any
// other one a client that goes on from the event next to it might never learn of the deletion.
func (r *Resource) missed(entries *tree) (events []Event, lost bool) {
	r.mu.Lock()
	if r.cache == nil {
		r.mu.Unlock()
		return nil, false
	}
	old, _ := r.cache.snapshot()
	r.mu.Unlock()
	common := 0
	entries.Scan(func(e *Entry) bool {
		prev, _ := old.Get(e)
		switch {
		case prev == nil:
			events = append(events, Event{Revision: e.Revision, Entry: e})
			return true
		case prev.created != e.created: // deleted, and created anew
			lost = true
		case prev.Revision != e.Revision:
			events = append(events, Event{Revision: e.Revision, Entry: e, Prev: prev})
		}
		common++
		return true
	})
	lost = lost || common != old.Len()
	slices.SortStableFunc(events, func(a, b Event) int { return cmp.Compare(a.Revision, b.Revision) })
	return events, lost
}

// catchUp applies events that were put aside to what was read.
func (r *Resource) catchUp(ctx context.Context, fresh *loaded, aside []*clientv3.Event) {
	r.mu.Lock()
	own := r.recogniseLocked(aside)
	r.mu.Unlock()
	for _, c := range r.decodeAll(ctx, aside, own) {
		if event, news := fresh.cache.apply(c.key, c.entry, c.revision); news {
			fresh.since = append(fresh.since, event)
		}
	}
}

// install makes what was read the resource's state when no events are left aside. Otherwise they are returned, to be
// applied first; none: the load has to begin again.
func (r *Resource) install(l *load, fresh *loaded) (finished bool, aside []*clientv3.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.load != l: // released meanwhile
		return true, nil
	case l.again:
		return false, nil
	case len(l.aside) > 0:
		aside, l.aside = l.aside, nil
		return false, aside
	}
	r.installLocked(fresh)
	r.load = nil
	r.counts.loads.Add(1)
	l.finish(nil)
	r.wakeLocked()
	return true, nil
}

func (r *Resource) installLocked(fresh *loaded) {
	options := &r.store.options
	if r.ring == nil || fresh.lost {
		r.ring = newRing(options.RingEvents, options.RingBytes, fresh.cache.loaded)
		if fresh.lost {
			r.endWatchersLocked(ErrCompacted)
		}
	} else {
		r.ring.reload(fresh.events, fresh.cache.loaded)
	}
	for _, event := range fresh.since {
		r.ring.push(event)
	}
	r.cache = fresh.cache
	r.forgetOldLocked()
}
