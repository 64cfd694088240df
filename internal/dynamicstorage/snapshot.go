package dynamicstorage

import (
	"context"
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
	resp, err := r.store.get(ctx, r.fullKey(from), clientv3.WithRange(prefixEnd(r.fullKey(prefix))),
		clientv3.WithRev(s.Revision), clientv3.WithCountOnly())
	if err != nil {
		return 0, err
	}
	return resp.Count, nil
}

// Query selects entries of a snapshot.
type Query struct {
	// Viewer makes the views that Requirements apply to.
	Viewer *Viewer
	// StoredLabels: its views have the labels of the stored objects. Then entries are selected by label without
	// views, also entries whose views have errors.
	StoredLabels bool
	// Prefix and Start are as for Ascend.
	Prefix, Start string
	// Requirements must all be met.
	Requirements []Requirement
}

// Requirement is a label or field that an object must have.
type Requirement struct {
	Kind IndexKind
	Name string
	// Values are the values that are allowed; nil allows any.
	Values []string
}

// key returns the key of the index for a requirement.
func (q *Query) key(r *Requirement) indexKey {
	if r.Kind == Label && q.StoredLabels {
		return indexKey{kind: Label, name: r.Name}
	}
	return indexKey{viewer: q.Viewer, kind: r.Kind, name: r.Name}
}

// Select is Ascend for the entries that may meet the requirements. It uses indexes, which it builds on demand. It may
// return entries that do not meet the requirements, in particular entries without a view, and all entries if there is
// no index.
func (s *Snapshot) Select(ctx context.Context, q Query) iter.Seq2[*Entry, error] {
	x, values := s.mostSelective(&q)
	k := keys{q.Prefix, q.Start}
	switch {
	case x == nil:
		return s.Ascend(ctx, q.Prefix, q.Start)
	case len(values) == 1 && x.unknown.Len() == 0:
		return func(yield func(*Entry, error) bool) {
			x.ascend(values[0], k, func(e *Entry) bool { return yield(e, nil) })
		}
	case x.count(values, k) > s.entries.Len()/4: // sorting them would cost more than scanning all
		return s.Ascend(ctx, q.Prefix, q.Start)
	}
	return func(yield func(*Entry, error) bool) {
		for _, e := range x.collect(values, k) {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// mostSelective returns the index with the fewest entries that may meet a requirement, and the values of the
// requirement. It builds an index if there is no selective one.
func (s *Snapshot) mostSelective(q *Query) (best *index, values []string) {
	if s.indexes == nil || s.entries.Len() < minIndexed {
		return nil, nil
	}
	least, k := 0, keys{q.Prefix, q.Start}
	now := s.resource.store.options.Clock.Now().UnixNano()
	consider := func(x *index, r *Requirement) {
		x.used.Store(now)
		if n := x.count(r.Values, k); best == nil || n < least {
			best, values, least = x, r.Values, n
		}
	}
	var missing *Requirement
	for n := range q.Requirements {
		r := &q.Requirements[n]
		key := q.key(r)
		if key.closed() {
			continue
		}
		x := s.indexes.find(key)
		if x != nil && x.outdated() {
			if built := s.makeIndex(key); built != nil {
				x = built
			}
		}
		if x != nil {
			consider(x, r)
		} else if missing == nil {
			missing = r
		}
	}
	if missing != nil && (best == nil || least > s.entries.Len()/4) {
		if x := s.makeIndex(q.key(missing)); x != nil {
			consider(x, missing)
		}
	}
	return best, values
}
