package dynamicstorage

import (
	"context"
	"fmt"
	"iter"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Snapshot is the state of a resource at one revision. It is immutable. Holding it costs the memory of the entries
// that have been replaced since.
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

// Ascend returns the entries whose keys begin with prefix, in the order of their keys, from start on if that is not
// "". A snapshot that is not in memory is read from etcd, page by page. An error ends the sequence; it is
// ErrCompacted if etcd has compacted the revision.
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
	ctx, done, err := r.store.requesting(ctx)
	if err != nil {
		return 0, fmt.Errorf("counting in etcd: %w", err)
	}
	defer done()
	resp, err := r.store.client.Get(ctx, r.fullKey(from), clientv3.WithRange(prefixEnd(r.fullKey(prefix))),
		clientv3.WithRev(s.Revision), clientv3.WithCountOnly())
	if err != nil {
		return 0, etcdError(ctx, "counting in etcd", err)
	}
	return resp.Count, nil
}
