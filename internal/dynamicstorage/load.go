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

// load brings a resource into memory. It reads the resource at one revision while newer events of the feed are buffered, and then
// applies those. No event is missed: the read is linearizable, and begins after buffering does.
type load struct {
	done chan struct{} // closed by finish
	err  error         // set before

	// The resource's mu guards the fields below.

	// buffered are the events of the feed since the load began.
	buffered []*clientv3.Event
	// restart: events were lost meanwhile, the resource has to be read again.
	restart bool
}

// finish ends the load. It is called once, with the resource's mu held.
func (l *load) finish(err error) {
	l.err = err
	close(l.done)
}

// warm waits until the resource is in memory and up to date with the feed. It loads the resource if it is cold.
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

// startLoad starts to load a cold resource, or returns the load that runs. It returns nil if the resource is retired or the store
// has stopped.
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

// reload loads the resource again because the feed has lost events. Cold resources have lost nothing.
func (r *Resource) reload() {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.load != nil:
		r.load.restart, r.load.buffered = true, nil
	case r.cache != nil:
		r.counts.reloads.Add(1)
		r.reloadRevision = r.revisionLocked(r.store.feed.current())
		r.outdateKeptLocked(r.reloadRevision + 1)
		r.startLoadLocked()
	}
}

// reloadBackoff is the pause after a failed reload.
const reloadBackoff = 200 * time.Millisecond

// runLoad loads until it succeeds. A first load gives up after an error, which its readers get.
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
		if err == nil { // events were lost
			continue
		}
		r.mu.Lock()
		if r.load == l && (r.cache == nil || ctx.Err() != nil) {
			r.resetLocked(err)
		}
		gaveUp := r.load != l
		r.mu.Unlock()
		if gaveUp {
			return
		}
		klog.FromContext(ctx).V(1).Info("Reloading a resource failed, trying again", "resource", r.name, "err", err)
		select {
		case <-r.store.options.Clock.After(reloadBackoff):
		case <-ctx.Done():
		}
	}
}

// tryLoad reads the resource and installs the result.
func (r *Resource) tryLoad(ctx context.Context, l *load) (finished bool, err error) {
	select {
	case r.store.loads <- struct{}{}:
		defer func() { <-r.store.loads }()
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	r.mu.Lock()
	l.restart = false
	r.mu.Unlock()
	entries := newTree()
	revision, err := r.readAll(ctx, func(kv *mvccpb.KeyValue) { entries.Set(r.entry(ctx, kv)) })
	if err != nil {
		r.counts.failedLoads.Add(1)
		return false, err
	}
	fresh := &loaded{cache: newCache(entries, revision)}
	fresh.netChanges, fresh.lost = r.netChanges(entries)
	for {
		finished, buffered := r.install(l, fresh)
		if finished || buffered == nil {
			return finished, nil
		}
		r.applyBuffered(ctx, fresh, buffered)
	}
}

// loaded is the result of a load.
type loaded struct {
	cache *cache
	// netChanges replace the events that watchers have missed, if this is a reload.
	netChanges []Event
	// lost: there are events that watchers have missed and that cannot be replaced.
	lost bool
	// later are the events since the read.
	later []Event
}

// netChanges compares the state before a reload with entries. It returns one event for every object that has changed, at the
// revision that it has now. If an object has been deleted, events are lost: the revision of the deletion is unknown, and
// a client that resumed after a made-up revision might never learn of it.
func (r *Resource) netChanges(entries *tree) (events []Event, lost bool) {
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
		case prev.created != e.created: // deleted and created again
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

// applyBuffered applies buffered events to the result of a load.
func (r *Resource) applyBuffered(ctx context.Context, fresh *loaded, buffered []*clientv3.Event) {
	r.mu.Lock()
	writes := r.matchPendingLocked(buffered)
	r.mu.Unlock()
	for _, c := range r.decodeAll(ctx, buffered, writes) {
		if event, applied := fresh.cache.apply(c.key, c.entry, c.revision); applied {
			fresh.later = append(fresh.later, event)
		}
	}
}

// install makes the result of a load the resource's state. If there are buffered events, it returns them instead: the caller
// applies them first. If it returns neither, the load has to start again.
func (r *Resource) install(l *load, fresh *loaded) (finished bool, buffered []*clientv3.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.load != l: // released meanwhile
		return true, nil
	case l.restart:
		return false, nil
	case len(l.buffered) > 0:
		buffered, l.buffered = l.buffered, nil
		return false, buffered
	}
	r.installLocked(fresh)
	r.load = nil
	r.counts.loads.Add(1)
	l.finish(nil)
	r.deliverLocked()
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
		r.ring.reload(fresh.netChanges, fresh.cache.loaded)
	}
	for _, event := range fresh.later {
		r.ring.push(event)
	}
	r.cache = fresh.cache
	r.notifyReloadLocked(r.reloadRevision)
	for key := range r.pending {
		r.dropAppliedLocked(key, r.cache.changed)
	}
}
