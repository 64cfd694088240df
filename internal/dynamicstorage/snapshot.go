package dynamicstorage

import (
	"context"
	"iter"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Snapshot is the state of a resource at one revision. It is immutable. Holding it costs the memory of the entries that have been
// replaced since.
type Snapshot struct {
	// Revision is the revision of the state.
	Revision int64

	resource *Resource
	// entries is nil if the state has to be read from etcd.
	entries *tree
	// indexes is nil if the state can have no indexes.
	indexes *indexSet
	// since is the revision of the last change: the state is the same for all revisions from since to Revision.
	since int64
}

// Ascend returns the entries whose keys begin with prefix, in the order of their keys, from start on if that is not "". A
// snapshot that is not in memory is read from etcd, page by page. An error ends the sequence; it is ErrCompacted if etcd
// has compacted the revision.
func (s *Snapshot) Ascend(ctx context.Context, prefix, start string) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		if s.entries != nil {
			ascend(s.entries, prefix, start, func(e *Entry) bool { return yield(e, nil) })
			return
		}
		r := s.resource
		wanted := keyRange{from: r.fullKey(max(prefix, start)), to: prefixEnd(r.fullKey(prefix)), revision: s.Revision}
		more := true
		_, err := r.readPages(ctx, wanted, func(kv *mvccpb.KeyValue) bool {
			more = yield(r.entry(ctx, kv), nil)
			return more
		})
		if err != nil && more {
			yield(nil, err)
		}
	}
}

// Count returns the number of entries whose keys begin with prefix and are after the key after, if that is not "".
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
	// until is the last revision of the state; 0 while it is the present state.
	until int64
}

// Keep keeps the snapshot for Options.KeepFor, for the next pages of a list: reads of exactly its revision. A resource keeps
// Options.KeptSnapshots of them and drops the oldest.
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

// keptLocked returns the kept snapshot of a revision; nil if there is none.
func (r *Resource) keptLocked(revision int64) *keptSnapshot {
	for _, k := range r.kept {
		if k.since <= revision && (k.until == 0 || revision <= k.until) {
			return k
		}
	}
	return nil
}

// outdateKeptLocked ends the validity of kept snapshots before a change.
func (r *Resource) outdateKeptLocked(changed int64) {
	for i := len(r.kept) - 1; i >= 0; i-- {
		if r.kept[i].until == 0 {
			r.kept[i].until = changed - 1
		}
	}
}

// expireKept drops snapshots that have expired.
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
