package dynamicstorage

import (
	"context"
	"errors"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// ReadMode says which states a read may return.
type ReadMode int

const (
	// Consistent is a state with all writes that were done when the read began.
	Consistent ReadMode = iota
	// Any is the state in memory, however old it is.
	Any
	// NotOlderThan is a state at ReadAt.Revision or later. The read waits for it; after Options.WaitFor the error is
	// a *FutureRevisionError.
	NotOlderThan
	// Exact is the state at ReadAt.Revision. If that does not exist yet, the error is a *FutureRevisionError, and
	// ErrCompacted if etcd has compacted it.
	Exact
)

// ReadAt says which state to read.
type ReadAt struct {
	Mode     ReadMode
	Revision int64
}

// Get returns the entry of a key, and the revision at which it was read. The error is ErrNotFound if there is none.
func (r *Resource) Get(ctx context.Context, key string, at ReadAt) (*Entry, int64, error) {
	if !validKey(key) {
		return nil, 0, fmt.Errorf("%w: %q", ErrInvalidKey, key)
	}
	if at.Mode == Exact {
		return r.getExact(ctx, key, at)
	}
	reached, err := r.waitFor(ctx, at)
	if err != nil {
		return nil, 0, err
	}
	if reached {
		if e, revision, ok := r.cached(key); ok {
			return found(e, revision)
		}
		r.startLoad() // for later reads
	}
	return r.getStored(ctx, key, 0)
}

func found(e *Entry, revision int64) (*Entry, int64, error) {
	if e == nil {
		return nil, revision, ErrNotFound
	}
	return e, revision, nil
}

// waitFor waits until the feed has reached the state that a read needs. It reports false if a consistent read has to
// go to etcd.
func (r *Resource) waitFor(ctx context.Context, at ReadAt) (reached bool, err error) {
	switch at.Mode {
	case Consistent:
		_, reached, err := r.waitConsistent(ctx)
		return reached, err
	case NotOlderThan:
		return true, r.store.waitNotOlderThan(ctx, at.Revision)
	default:
		return true, nil
	}
}

// waitConsistent is Store.waitConsistent with counters.
func (r *Resource) waitConsistent(ctx context.Context) (revision int64, reached bool, err error) {
	revision, reached, err = r.store.waitConsistent(ctx)
	switch {
	case err != nil:
	case reached:
		r.counts.inMemory.Add(1)
	default:
		r.counts.passedOn.Add(1)
	}
	return revision, reached, err
}

// cached returns the entry of a key in the cache. It reports false if the resource is cold.
func (r *Resource) cached(key string) (*Entry, int64, bool) {
	r.touch()
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.cache == nil {
		return nil, 0, false
	}
	return r.cache.get(key), r.revisionLocked(), true
}

// CachedSize returns the size in bytes of the entry of a key in the cache. It is 0 if there is none, or if the resource
// is cold.
func (r *Resource) CachedSize(key string) int {
	if e, _, ok := r.cached(key); ok && e != nil {
		return len(e.Value)
	}
	return 0
}

// getExact returns the entry of a key at a revision.
func (r *Resource) getExact(ctx context.Context, key string, at ReadAt) (*Entry, int64, error) {
	s, err := r.Snapshot(ctx, at)
	if err != nil {
		return nil, 0, err
	}
	if s.entries == nil {
		return r.getStored(ctx, key, at.Revision)
	}
	e, _ := s.entries.Get(&Entry{Key: key})
	return found(e, s.Revision)
}

// getStored reads a key from etcd; revision 0 is the present one.
func (r *Resource) getStored(ctx context.Context, key string, revision int64) (*Entry, int64, error) {
	resp, err := r.store.get(ctx, r.fullKey(key), clientv3.WithRev(revision))
	if err != nil {
		return nil, 0, err
	}
	if revision == 0 {
		revision = resp.Header.Revision
	}
	if len(resp.Kvs) == 0 {
		return found(nil, revision)
	}
	return found(r.entry(ctx, resp.Kvs[0]), revision)
}

// Snapshot returns the state of the resource. If that is not in memory any more, Ascend reads it from etcd. The error
// is ErrCompacted, here or from Ascend, if etcd has compacted the state.
func (r *Resource) Snapshot(ctx context.Context, at ReadAt) (*Snapshot, error) {
	s, err := r.snapshot(ctx, at)
	switch {
	case err != nil:
	case s.entries != nil:
		r.counts.lists.Add(1)
	default:
		r.counts.storedLists.Add(1)
	}
	return s, err
}

func (r *Resource) snapshot(ctx context.Context, at ReadAt) (*Snapshot, error) {
	if at.Mode == Exact {
		return r.exact(ctx, at.Revision)
	}
	if at.Mode == Any {
		r.touch()
		if s := r.present(); s != nil {
			return s, nil
		}
	}
	if err := r.warm(ctx); err != nil {
		return nil, err
	}
	for {
		revision, reached, err := at.Revision, true, error(nil)
		if at.Mode == Consistent {
			revision, reached, err = r.waitConsistent(ctx)
		} else if at.Mode == NotOlderThan {
			err = r.store.waitNotOlderThan(ctx, at.Revision)
		}
		if err != nil {
			return nil, err
		}
		if !reached {
			return &Snapshot{Revision: revision, resource: r}, nil
		}
		if s := r.present(); s != nil {
			return s, nil
		}
		// The feed has lost events meanwhile.
		if err := r.warm(ctx); err != nil {
			return nil, err
		}
	}
}

// present returns the present state; nil if it is not in memory.
func (r *Resource) present() *Snapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cache == nil {
		return nil
	}
	s := &Snapshot{Revision: r.revisionLocked(), resource: r, since: r.cache.changed}
	s.entries, s.indexes = r.cache.snapshot()
	return s
}

// maxUndo bounds the events that are undone to get an older state.
const maxUndo = 4096

// errNoRevision: revisions begin at 1.
var errNoRevision = errors.New("invalid revision")

// exact returns the state at a revision, from memory if possible, else from etcd.
func (r *Resource) exact(ctx context.Context, revision int64) (*Snapshot, error) {
	if revision <= 0 {
		return nil, fmt.Errorf("%w: %d", errNoRevision, revision)
	}
	if compacted := r.store.CompactedRevision(); revision < compacted {
		return nil, fmt.Errorf("%w: %d is older than %d", ErrCompacted, revision, compacted)
	}
	if !r.store.feed.reached(revision) {
		current, reached, err := r.store.waitConsistent(ctx)
		if err != nil {
			return nil, err
		}
		if current < revision {
			return nil, &FutureRevisionError{Requested: revision, Current: current}
		}
		if !reached {
			return &Snapshot{Revision: revision, resource: r}, nil
		}
	}
	if s := r.past(revision); s != nil {
		return s, nil
	}
	return &Snapshot{Revision: revision, resource: r}, nil
}

// past returns the state at a revision that the feed has reached; nil if memory does not have it.
func (r *Resource) past(revision int64) *Snapshot {
	r.touch()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cache == nil {
		return nil
	}
	s := &Snapshot{Revision: revision, resource: r}
	if revision >= r.cache.changed {
		s.since = r.cache.changed
		s.entries, s.indexes = r.cache.snapshot()
		return s
	}
	if revision < r.ring.floor {
		return nil
	}
	events := r.ring.since(revision)
	if len(events) > maxUndo {
		return nil
	}
	s.entries, s.since = r.cache.undo(events), revision
	return s
}

// HasBelow reports whether there are entries whose keys begin with prefix, in a state with all writes that were done
// when the call began. It does not load a cold resource, but reads one key of etcd.
func (r *Resource) HasBelow(ctx context.Context, prefix string) (bool, error) {
	if r.inMemory() {
		_, reached, err := r.waitConsistent(ctx)
		if err != nil {
			return false, err
		}
		if s := r.present(); reached && s != nil {
			n, err := s.Count(ctx, prefix, "")
			return n > 0, err
		}
	}
	from := r.fullKey(prefix)
	resp, err := r.store.get(ctx, from, clientv3.WithRange(prefixEnd(from)), clientv3.WithLimit(1),
		clientv3.WithKeysOnly())
	return err == nil && len(resp.Kvs) > 0, err
}

// Count returns the number of entries in etcd, with all writes that were done when the call began. It reads none of
// them. Keys that are not those of objects count too, as they do for Empty.
func (r *Resource) Count(ctx context.Context) (int64, error) {
	resp, err := r.store.get(ctx, r.prefix, clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		return 0, err
	}
	return resp.Count, nil
}

func (r *Resource) inMemory() bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.cache != nil
}
