package dynamicstorage

import (
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/tidwall/btree"
)

// IndexKind says what an index is of.
type IndexKind uint8

const (
	// Label: whether and with which value an object has a label.
	Label IndexKind = iota
	// Field: the value of a field; "" where an object does not have it.
	Field
)

// indexKey is what an index is of. Labels that all versions have as they are stored have no viewer.
type indexKey struct {
	viewer *Viewer
	kind   IndexKind
	name   string
}

// index finds entries by the value of one label or field. What belongs to a version is known from its views only: entries
// without one are kept aside, and found by whatever they are looked for. It has no lock of its own: an index in a cache is
// guarded by the resource's mu, one of a snapshot is never modified.
type index struct {
	indexKey
	postings *btree.BTreeG[posting]
	// unknown are the entries whose value is not known yet, or never will be.
	unknown *tree
	// used is when the index was last asked, in nanoseconds of the store's clock; shared by all copies.
	used *atomic.Int64
}

// posting is one entry in an index.
type posting struct {
	value string // shares the bytes of the entry's labels or of its view's
	entry *Entry
}

// postingDegree makes nodes of up to 31 postings: larger than entries, so fewer.
const postingDegree = 16

func newIndex(key indexKey) *index {
	less := func(a, b posting) bool {
		if a.value != b.value {
			return a.value < b.value
		}
		return a.entry.Key < b.entry.Key
	}
	return &index{
		indexKey: key,
		postings: btree.NewBTreeGOptions(less, btree.Options{Degree: postingDegree, NoLocks: true}),
		unknown:  newTree(),
		used:     &atomic.Int64{},
	}
}

// buildIndex makes an index of entries that nobody modifies.
func buildIndex(key indexKey, entries *tree) *index {
	x := newIndex(key)
	byValue := map[string][]*Entry{} // each in the order of keys
	entries.Scan(func(e *Entry) bool {
		switch value, has, known := x.value(e); {
		case !known:
			x.unknown.Load(e)
		case has:
			byValue[value] = append(byValue[value], e)
		}
		return true
	})
	for _, value := range slices.Sorted(maps.Keys(byValue)) {
		for _, e := range byValue[value] {
			own, _, _ := x.value(e)          // value may be that of another one
			x.postings.Load(posting{own, e}) // at the end: cheaper than looking for the place
		}
	}
	return x
}

// value returns the value an entry is found by, whether it has one, and whether that is known.
func (x *index) value(e *Entry) (value string, has, known bool) {
	if e.Err != nil {
		return "", false, false
	}
	if x.viewer == nil {
		value, has = e.Header.Labels.Lookup(x.name)
		return value, has, true
	}
	view := x.viewer.kept(e)
	if view == nil || view.Err != nil {
		return "", false, false
	}
	if x.kind == Field {
		return view.Fields.Get(x.name), true, true
	}
	value, has = view.Labels.Lookup(x.name)
	return value, has, true
}

// apply follows a change of an object, before and after which it was prev and next; nil: there was none.
func (x *index) apply(prev, next *Entry) {
	if prev != nil {
		x.remove(prev)
	}
	if next != nil {
		x.add(next)
	}
}

func (x *index) add(e *Entry) {
	switch value, has, known := x.value(e); {
	case !known:
		x.unknown.Set(e)
	case has:
		x.postings.Set(posting{value, e})
	}
}

func (x *index) remove(e *Entry) {
	if _, aside := x.unknown.Delete(e); aside {
		return
	}
	if value, has, _ := x.value(e); has { // as it was when it was added: views stay the same
		x.postings.Delete(posting{value, e})
	}
}

// copy returns an index that the changes of x do not reach.
func (x *index) copy() *index {
	c := *x
	c.postings, c.unknown = x.postings.Copy(), x.unknown.Copy()
	return &c
}

// resolvable returns the entries aside whose value has become known, as their views were made meanwhile.
func (x *index) resolvable() (resolvable []*Entry) {
	x.unknown.Scan(func(e *Entry) bool {
		if _, _, known := x.value(e); known {
			resolvable = append(resolvable, e)
		}
		return true
	})
	return resolvable
}

// resolve puts entries that were aside to their place. Some may have been replaced meanwhile.
func (x *index) resolve(entries []*Entry) {
	for _, e := range entries {
		if aside, _ := x.unknown.Get(e); aside == e {
			x.unknown.Delete(e)
			x.add(e)
		}
	}
}

// keys are those of the entries wanted: below prefix, and not before start.
type keys struct{ prefix, start string }

func (k keys) from() string { return max(k.prefix, k.start) }

func (k keys) has(key string) bool { return key >= k.from() && strings.HasPrefix(key, k.prefix) }

// count returns how many entries may have one of some values; nil: any.
func (x *index) count(values []string, k keys) int {
	n := x.unknown.Len()
	if values == nil {
		return n + x.postings.Len()
	}
	for _, value := range values {
		n += rank(x.postings, func(p posting) bool {
			return p.value < value || p.value == value && (p.entry.Key < k.from() || strings.HasPrefix(p.entry.Key, k.prefix))
		}) - rank(x.postings, func(p posting) bool { return p.value < value || p.value == value && p.entry.Key < k.from() })
	}
	return n
}

// ascend calls f with the entries that have a value, in the order of their keys, until it returns false.
func (x *index) ascend(value string, k keys, f func(*Entry) bool) {
	x.postings.Ascend(posting{value, &Entry{Key: k.from()}}, func(p posting) bool {
		return p.value == value && strings.HasPrefix(p.entry.Key, k.prefix) && f(p.entry)
	})
}

// collect returns the entries that may have one of some values (nil: any), in the order of their keys.
func (x *index) collect(values []string, k keys) (found []*Entry) {
	take := func(e *Entry) bool {
		if k.has(e.Key) {
			found = append(found, e)
		}
		return true
	}
	ascend(x.unknown, k.prefix, k.start, take)
	if values == nil {
		x.postings.Scan(func(p posting) bool { return take(p.entry) })
	}
	for _, value := range values {
		x.ascend(value, k, take)
	}
	slices.SortFunc(found, func(a, b *Entry) int { return strings.Compare(a.Key, b.Key) })
	return found
}
