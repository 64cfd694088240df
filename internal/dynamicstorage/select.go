package dynamicstorage

import (
	"context"
	"iter"
)

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
