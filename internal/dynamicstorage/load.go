package dynamicstorage

import (
	"context"
	"fmt"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// load brings a resource into memory. It reads the resource at one revision while newer events of the feed are
// buffered, and then applies those. No event is missed: the read is linearizable, and begins after buffering does.
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
		warm, l := r.cache != nil, r.load
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

// startLoad starts to load a cold resource, or returns the load that runs. It returns nil if the resource is retired
// or the store has stopped.
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

// loseEvents drops the state because the feed has lost events, or etcd was restored. Watchers end with ErrCompacted, as
// upstream's do, and the next reader loads the resource again. A load that runs starts again.
func (r *Resource) loseEvents() {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.load != nil:
		r.load.restart, r.load.buffered, r.pending = true, nil, nil
	case r.cache != nil:
		r.counts.reloads.Add(1)
		r.resetLocked(ErrCompacted)
	}
}

// runLoad loads until it succeeds. It gives up after an error, which the readers that wait get.
func (r *Resource) runLoad(ctx context.Context, l *load) {
	select {
	case <-r.store.feed.started:
	case <-ctx.Done():
	}
	for finished := false; !finished; {
		var err error
		if finished, err = r.tryLoad(ctx, l); err != nil {
			r.giveUp(l, err)
			return
		}
	}
}

// giveUp ends a load with an error, unless the resource was released meanwhile.
func (r *Resource) giveUp(l *load, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.load == l {
		r.resetLocked(err)
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
	breaks, newest, entries := r.store.feed.breaks.Load(), (*mvccpb.KeyValue)(nil), newTree()
	revision, err := r.readAll(ctx, func(kv *mvccpb.KeyValue) {
		if newest == nil || newest.ModRevision < kv.ModRevision {
			newest = kv
		}
		entries.Set(r.entry(ctx, kv))
	})
	if err != nil {
		r.counts.failedLoads.Add(1)
		return false, err
	}
	r.store.feed.loaded(newest, breaks)
	fresh := &loaded{cache: newCache(entries, revision),
		ring: newRing(r.store.options.RingEvents, r.store.options.RingBytes, revision)}
	for {
		finished, buffered := r.install(l, fresh)
		if finished || buffered == nil {
			return finished, nil
		}
		r.applyBuffered(ctx, fresh, buffered)
	}
}

// loaded is the result of a load: the entries, and the events since they were read.
type loaded struct {
	cache *cache
	ring  *ring
}

// applyBuffered applies buffered events to the result of a load.
func (r *Resource) applyBuffered(ctx context.Context, fresh *loaded, buffered []*clientv3.Event) {
	r.mu.Lock()
	writes := r.matchPendingLocked(buffered)
	r.mu.Unlock()
	for _, c := range r.decodeAll(ctx, buffered, writes) {
		if event, applied := fresh.cache.apply(c.key, c.entry, c.revision); applied {
			fresh.ring.push(event)
		}
	}
}

// install makes the result of a load the resource's state. If there are buffered events, it returns them instead: the
// caller applies them first. If it returns neither, the load has to start again.
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
	r.cache, r.ring, r.load = fresh.cache, fresh.ring, nil
	for key := range r.pending {
		r.dropAppliedLocked(key, r.cache.changed)
	}
	r.counts.loads.Add(1)
	l.finish(nil)
	return true, nil
}
