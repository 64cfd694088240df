package dynamicstorage

import (
	"context"
	"iter"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Snapshot is the state of a resource at one revision. It is immutable, and free to hold but for the memory of entries that
// have been replaced since.
type Snapshot struct {
	// Revision is the revision the state is of.
	Revision int64

	resource *Resource
	// entries are nil when the state has to be read from etcd.
	entries *tree
	// indexes are those of the entries; nil when there are none and none may be made.
	indexes *frozen
	// since is the revision of the last change before: the state is that of every revision from it to Revision.
	since int64
}

// Ascend returns the entries whose keys begin with prefix, in the order of their keys, from start on if it is not "". A
// snapshot that is not in memory is read from etcd, page by page; an error ends the sequence, ErrCompacted when
// etcd does not know the revision any more.
func (s *Snapshot) Ascend(ctx context.Context, prefix, start string) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		if s.entries != nil {
			ascend(s.entries, prefix, start, func(e *Entry) bool { return yield(e, nil) })
			return
		}
		r := s.resource
		span := span{from: r.fullKey(max(prefix, start)), to: prefixEnd(r.fullKey(prefix)), revision: s.Revision}
		more := true
		_, err := r.readPages(ctx, span, func(kv *mvccpb.KeyValue) bool {
			more = yield(r.entry(ctx, kv), nil)
			return more
		})
		if err != nil && more {
			yield(nil, err)
		}
	}
}

// Count returns the number of entries whose keys begin with prefix and come after the key after, if that is not "".
func (s *Snapshot) Count(ctx context.Context, prefix, after string) (int64, error) {
	from := prefix
	if after != "" {
		from = max(prefix, after+"\x00")
	}
	if s.entries != nil {
		return int64(count(s.entries, prefix, from)), nil
	}
	r := s.resource
	resp, err := r.store.client.Get(ctx, r.fullKey(from), clientv3.WithRange(prefixEnd(r.fullKey(prefix))),
		clientv3.WithRev(s.Revision), clientv3.WithCountOnly())
	if err != nil {
		return 0, etcdError(ctx, "counting in etcd", err)
	}
	return resp.Count, nil
}

// keptSnapshot is a snapshot that is kept for later reads of its revision.
type keptSnapshot struct {
	*Snapshot
	expires time.Time
	// until is the last revision that the snapshot is the state of; 0: it still is the present one.
	until int64
}

// Keep keeps the snapshot for reads of exactly its revision, for a while: the pages of a list. A resource keeps a few; the
// oldest make room. Reads of revisions that are not kept go to etcd.
func (s *Snapshot) Keep() {
	if s.entries == nil {
		return
	}
	r := s.resource
	options := &r.store.options
	expires := options.Clock.Now().Add(options.KeepFor)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, k := range r.kept {
		if k.entries == s.entries {
			k.expires = expires
			return
		}
	}
	if r.cache == nil || options.KeptSnapshots <= 0 {
		return
	}
	k := &keptSnapshot{Snapshot: s, expires: expires, until: s.Revision}
	if r.load == nil && r.cache.clone == s.entries {
		k.until = 0
	}
	if len(r.kept) >= options.KeptSnapshots {
		r.kept = append(r.kept[:0:0], r.kept[1:]...)
	}
	r.kept = append(r.kept, k)
}

// keptLocked returns the entries of a revision if a kept snapshot has them.
func (r *Resource) keptLocked(revision int64) *keptSnapshot {
	for _, k := range r.kept {
		if k.since <= revision && (k.until == 0 || revision <= k.until) {
			return k
		}
	}
	return nil
}

// outdateKeptLocked tells kept snapshots that the resource has changed.
func (r *Resource) outdateKeptLocked(changed int64) {
	for i := len(r.kept) - 1; i >= 0; i-- {
		if r.kept[i].until == 0 {
			r.kept[i].until = changed - 1
		}
	}
}

// expireKept drops snapshots that have been kept long enough.
func (r *Resource) expireKept(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var kept []*keptSnapshot
	for _, k := range r.kept {
		if k.expires.After(now) {
			kept = append(kept, k)
		}
	}
	r.kept = kept
}
