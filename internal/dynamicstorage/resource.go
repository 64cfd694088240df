package dynamicstorage

import (
	"context"
	"sync"
	"sync/atomic"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Resource is a folder of a store: the objects of one resource.
//
// A resource is cold until it is read. Then it is loaded into memory, and the feed keeps it up to date. While a load
// runs, the events of the feed are buffered.
type Resource struct {
	store  *Store
	name   string // the folder, such as "<group>/<plural>"
	prefix string // of full keys, with the trailing slash

	// retired: the resource is never loaded again.
	retired atomic.Bool
	// read is set by readers and cleared by the janitor, to find resources that are idle.
	read atomic.Bool
	// replays holds a token while a watcher reads old events from etcd. The next watcher mostly finds them in the
	// ring then.
	replays chan struct{}
	// afterWrites is the function of AfterWrites; nil if there is none.
	afterWrites atomic.Pointer[func(ctx context.Context, revision int64)]
	// updates queue where they contend for a key.
	updates updateQueues
	counts  counts

	// mu guards the fields below. It is never held during a request to etcd or a call of a Transformer or any other
	// function of a caller.
	mu sync.RWMutex
	// cache and ring are nil while the resource is cold.
	cache *cache
	ring  *ring
	// load is the running load of a cold resource; nil if there is none.
	load *load
	// pending are the writes of this process whose events have not arrived, by key.
	pending map[string][]*pendingWrite
	// scopes are those that watchers watch, by their keys. watchers is the number of all watchers.
	scopes     map[string]*scope
	watchers   int
	deliveries deliveryQueue
	// generation is incremented when the resource is released or has lost events: watchers of earlier generations end
	// with the error ended.
	generation uint64
	ended      error
}

func newResource(s *Store, name string) *Resource {
	return &Resource{store: s, name: name, prefix: s.prefix + "/" + name + "/", replays: make(chan struct{}, 1)}
}

// Folder returns the part of keys in etcd between the prefix and the namespace or name.
func (r *Resource) Folder() string { return r.name }

// fullKey returns the key in etcd.
func (r *Resource) fullKey(key string) string { return r.prefix + key }

// keyOf returns the key below the resource.
func (r *Resource) keyOf(kv *mvccpb.KeyValue) string { return string(kv.Key[len(r.prefix):]) }

// owns reports whether a full key below the resource's prefix has the shape of an object's.
func (r *Resource) owns(kv *mvccpb.KeyValue) bool { return validKey(r.keyOf(kv)) }

// touch records that the resource is being read.
func (r *Resource) touch() {
	if !r.read.Load() { // a store would take the cache line from other readers
		r.read.Store(true)
	}
}

// revisionLocked returns the revision of the cache. The feed goes back before it resets the resource, so the lock must
// be held already when its revision is read.
func (r *Resource) revisionLocked() int64 {
	return max(r.store.feed.current(), r.cache.changed)
}

// change is a decoded event of the feed.
type change struct {
	key      string
	entry    *Entry // nil: deleted
	revision int64
}

// receive applies the events that a response of the feed has for the resource to the cache and the ring. It reports
// false if the resource is cold and does not need them.
func (r *Resource) receive(ctx context.Context, events []*clientv3.Event) bool {
	r.mu.Lock()
	switch {
	case r.load != nil:
		r.load.buffered = append(r.load.buffered, events...)
		r.mu.Unlock()
		return true
	case r.cache == nil:
		r.mu.Unlock()
		return false
	}
	writes, generation := r.matchPendingLocked(events), r.generation
	r.mu.Unlock()

	changes := r.decodeAll(ctx, events, writes)

	r.mu.Lock()
	defer r.mu.Unlock()
	if r.generation == generation && r.cache != nil { // else it was released meanwhile
		r.applyLocked(changes)
	}
	return true
}

// decodeAll decodes events. Where an event has a pending write, its entry is taken from that.
func (r *Resource) decodeAll(ctx context.Context, events []*clientv3.Event, writes []*pendingWrite) []change {
	changes := make([]change, 0, len(events))
	for i, event := range events {
		kv := event.Kv
		if !r.owns(kv) {
			continue
		}
		c := change{key: r.keyOf(kv), revision: kv.ModRevision}
		switch {
		case event.Type == clientv3.EventTypeDelete:
		case writes[i] != nil:
			c.entry = writes[i].entryAt(kv.ModRevision, kv.CreateRevision)
		default:
			c.entry = r.decode(ctx, kv)
		}
		changes = append(changes, c)
	}
	return changes
}

// applyLocked applies changes to the cache, adds their events to the ring, and queues the watchers of their keys.
func (r *Resource) applyLocked(changes []change) {
	for _, c := range changes {
		if event, applied := r.cache.apply(c.key, c.entry, c.revision); applied {
			r.ring.push(event)
			r.notifyLocked(&event)
		}
		if len(r.pending) > 0 {
			r.dropAppliedLocked(c.key, c.revision)
		}
	}
}

// Release frees the resource's memory. Its watchers end with ErrClosed. The next reader loads it again.
func (r *Resource) Release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.resetLocked(ErrClosed)
}

// Retire is Release for good: reads fail with ErrClosed from now on, and Store.Resource returns another Resource.
func (r *Resource) Retire() {
	r.retired.Store(true)
	r.store.forget(r)
	r.Release()
}

// Retired reports whether Retire has been called.
func (r *Resource) Retired() bool { return r.retired.Load() }

// resetLocked makes the resource cold and ends its watchers with err.
func (r *Resource) resetLocked(err error) {
	if r.load != nil {
		r.load.finish(err)
	}
	r.cache, r.ring, r.load, r.pending = nil, nil, nil, nil
	r.endWatchersLocked(err)
}

// entry returns the entry for a key and value of etcd. It is the cached one if that has the same revision, for it may
// have views.
func (r *Resource) entry(ctx context.Context, kv *mvccpb.KeyValue) *Entry {
	if e := r.cachedAt(r.keyOf(kv), kv.ModRevision); e != nil {
		return e
	}
	return r.decode(ctx, kv)
}

// cachedAt returns the cached entry of a key if it has the revision.
func (r *Resource) cachedAt(key string, revision int64) *Entry {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.cache == nil {
		return nil
	}
	if e := r.cache.get(key); e != nil && e.Revision == revision {
		return e
	}
	return nil
}
