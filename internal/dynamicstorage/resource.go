package dynamicstorage

import (
	"context"
	"sync"
	"sync/atomic"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Resource is a folder of a store: the objects of one group and plural.
//
// It is cold until it is read; then it is loaded into memory and fed. While a load runs, the feed's events are put aside for it.
type Resource struct {
	store  *Store
	name   string // "<group>/<plural>"
	prefix string // of full keys, with the trailing slash

	// retired: the resource is never loaded again.
	retired atomic.Bool
	// read is set by readers, and cleared by the store's housekeeping to see who goes unread.
	read atomic.Bool
	// replays holds a token while a watcher reads old events from etcd: others mostly find them in the ring afterwards.
	replays chan struct{}
	// updates queue where they contend for a key.
	updates updateQueues
	counts  counts

	// mu guards the fields below. It is never held while etcd, a Transformer, or any function of a caller is at work.
	mu sync.RWMutex
	// cache and ring are nil while the resource is cold. During a reload they are those before it.
	cache *cache
	ring  *ring
	// load is the load that runs, if any.
	load *load
	// frozen is the revision the cache has during a reload.
	frozen int64
	// writes are the Puts whose events have not come yet, by key.
	writes map[string][]*write
	kept   []*keptSnapshot
	// watchers is their number, rota which of them are woken when.
	watchers int
	rota     rota
	// era ends, and watchers with it, when the resource is released or has lost the thread; ended is what ended the last one.
	era   uint64
	ended error
}

func newResource(s *Store, name string) *Resource {
	return &Resource{store: s, name: name, prefix: s.prefix + "/" + name + "/", replays: make(chan struct{}, 1)}
}

// fullKey returns the key in etcd.
func (r *Resource) fullKey(key string) string { return r.prefix + key }

// warmLocked: memory is up to date with the feed.
func (r *Resource) warmLocked() bool { return r.cache != nil && r.load == nil }

// touch notes that the resource is being read.
func (r *Resource) touch() {
	if !r.read.Load() { // mostly it is noted already; a store would take the cache line from other readers
		r.read.Store(true)
	}
}

// revisionLocked returns the revision of the cache; fed is one the feed had reached before the lock was taken.
func (r *Resource) revisionLocked(fed int64) int64 {
	if r.load != nil {
		return r.frozen
	}
	return max(fed, r.cache.changed)
}

// change is an event of the feed, decoded.
type change struct {
	key      string
	entry    *Entry // nil: deleted
	revision int64
}

// take brings events of the feed into the cache and the ring. They are all that one response has for the resource, in order. False:
// the resource is cold, they are of no interest.
func (r *Resource) take(ctx context.Context, events []*clientv3.Event) bool {
	r.mu.Lock()
	switch {
	case r.load != nil:
		r.load.aside = append(r.load.aside, events...)
		r.mu.Unlock()
		return true
	case r.cache == nil:
		r.mu.Unlock()
		return false
	}
	own, era := r.recogniseLocked(events), r.era
	r.mu.Unlock()

	changes := r.decodeAll(ctx, events, own)

	r.mu.Lock()
	defer r.mu.Unlock()
	if r.era == era && r.cache != nil { // else it was released meanwhile
		r.applyLocked(changes)
	}
	return true
}

// owns says whether a full key below the resource's prefix has the shape of an object's.
func (r *Resource) owns(kv *mvccpb.KeyValue) bool { return validKey(string(kv.Key[len(r.prefix):])) }

// decodeAll decodes events; what own writes have put is known already.
func (r *Resource) decodeAll(ctx context.Context, events []*clientv3.Event, own []*write) []change {
	changes := make([]change, 0, len(events))
	for i, event := range events {
		kv := event.Kv
		if !r.owns(kv) {
			continue
		}
		c := change{revision: kv.ModRevision}
		switch {
		case event.Type == clientv3.EventTypeDelete:
			c.key = string(kv.Key[len(r.prefix):])
		case own[i] != nil:
			c.entry = own[i].at(kv.ModRevision, kv.CreateRevision)
		default:
			c.entry = r.decode(ctx, kv)
		}
		if c.entry != nil {
			c.key = c.entry.Key
		}
		changes = append(changes, c)
	}
	return changes
}

func (r *Resource) applyLocked(changes []change) {
	for i := range changes {
		event, news := r.cache.apply(changes[i].key, changes[i].entry, changes[i].revision)
		if news {
			r.outdateKeptLocked(event.Revision)
			r.ring.push(event)
		}
		if len(r.writes) > 0 {
			r.forgetKeyLocked(changes[i].key, changes[i].revision)
		}
	}
}

// Release gives the resource's memory back. Its watchers end with ErrClosed. Whoever uses it later begins anew.
func (r *Resource) Release() { r.reset(ErrClosed) }

// Retire is Release for good: its reads fail with ErrClosed from now on, and Store.Resource returns another one.
func (r *Resource) Retire() {
	r.retired.Store(true)
	r.store.forget(r)
	r.Release()
}

// Retired says whether Retire has been called.
func (r *Resource) Retired() bool { return r.retired.Load() }

// reset makes the resource cold and ends its watchers with err.
func (r *Resource) reset(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.resetLocked(err)
}

func (r *Resource) resetLocked(err error) {
	if r.load != nil {
		r.load.finish(err)
	}
	r.cache, r.ring, r.load, r.writes, r.kept = nil, nil, nil, nil, nil
	r.endWatchersLocked(err)
}

func (r *Resource) endWatchersLocked(err error) {
	r.era++
	r.ended = err
	r.endLocked()
}

// known returns the cached entry of a key if it has the revision: it may have views.
func (r *Resource) known(key string, revision int64) *Entry {
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

// entry returns the entry for what etcd holds for a key: the cached one if that is the same.
func (r *Resource) entry(ctx context.Context, kv *mvccpb.KeyValue) *Entry {
	if e := r.known(string(kv.Key[len(r.prefix):]), kv.ModRevision); e != nil {
		return e
	}
	return r.decode(ctx, kv)
}
