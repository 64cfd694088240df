package dynamicstorage

import (
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/tidwall/btree"
)

// IndexKind is the kind of value that an index finds entries by.
type IndexKind uint8

const (
	// Label is the value of a label, for objects that have it.
	Label IndexKind = iota
	// Field is the value of a field; "" for objects that do not have it.
	Field
)

// indexKey identifies an index. It has no viewer if the labels of the version are the stored ones.
type indexKey struct {
	viewer *Viewer
	kind   IndexKind
	name   string
}

// index finds entries by the value of one label or field. The values of a version are known from its views only:
// entries without a view are unknown, and found for any value. The index of a cache is guarded by the resource's mu.
// That of a snapshot is never modified.
type index struct {
	indexKey
	postings *btree.BTreeG[posting]
	// unknown are the entries whose value is not known, or not yet.
	unknown *tree
	// used is the time of the last use, in nanoseconds since 1970. All copies share it.
	used *atomic.Int64
}

// closed reports whether the viewer is closed.
func (k indexKey) closed() bool { return k.viewer != nil && k.viewer.closed.Load() }

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

// buildIndex builds an index of the entries of a snapshot.
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
			value, _, _ := x.value(e)          // the same, but it shares e's memory
			x.postings.Load(posting{value, e}) // append
		}
	}
	return x
}

// value returns the value of an entry, and reports whether the entry has one and whether that is known.
func (x *index) value(e *Entry) (value string, has, known bool) {
	if e.Err != nil {
		return "", false, false
	}
	if x.viewer == nil {
		value, has = e.Header.Labels.Lookup(x.name)
		return value, has, true
	}
	view := x.viewer.cached(e)
	if view == nil || view.Err != nil {
		return "", false, false
	}
	if x.kind == Field {
		return view.Fields.Get(x.name), true, true
	}
	value, has = view.Labels.Lookup(x.name)
	return value, has, true
}

// apply applies a change of an object from prev to next; nil stands for no object.
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
	if _, unknown := x.unknown.Delete(e); unknown {
		return
	}
	if value, has, _ := x.value(e); has { // the value it was added with, for views do not change
		x.postings.Delete(posting{value, e})
	}
}

// copy returns a copy of the index, which shares nodes until one of them changes.
func (x *index) copy() *index {
	c := *x
	c.postings, c.unknown = x.postings.Copy(), x.unknown.Copy()
	return &c
}

// outdated reports whether the values of many unknown entries are known now, because views were made.
func (x *index) outdated() bool {
	resolvable := 0
	x.unknown.Scan(func(e *Entry) bool {
		if _, _, known := x.value(e); known {
			resolvable++
		}
		return resolvable < maxResolvable
	})
	return resolvable == maxResolvable
}

// keys is a range of keys: those that begin with prefix and are not before start.
type keys struct{ prefix, start string }

func (k keys) from() string { return max(k.prefix, k.start) }

func (k keys) has(key string) bool { return key >= k.from() && strings.HasPrefix(key, k.prefix) }

// count returns the number of entries that may have one of the values; nil stands for any value.
func (x *index) count(values []string, k keys) int {
	n := x.unknown.Len()
	if values == nil {
		return n + x.postings.Len()
	}
	for _, value := range values {
		before := func(p posting) bool { return p.value < value || p.value == value && p.entry.Key < k.from() }
		within := func(p posting) bool { return p.value == value && strings.HasPrefix(p.entry.Key, k.prefix) }
		n += rank(x.postings, func(p posting) bool { return before(p) || within(p) }) - rank(x.postings, before)
	}
	return n
}

// ascend calls f for the entries that have a value, in the order of their keys, until it returns false.
func (x *index) ascend(value string, k keys, f func(*Entry) bool) {
	x.postings.Ascend(posting{value, &Entry{Key: k.from()}}, func(p posting) bool {
		return p.value == value && strings.HasPrefix(p.entry.Key, k.prefix) && f(p.entry)
	})
}

// collect returns the entries that may have one of the values, in the order of their keys; nil stands for any value.
func (x *index) collect(values []string, k keys) (found []*Entry) {
	add := func(e *Entry) bool {
		if k.has(e.Key) {
			found = append(found, e)
		}
		return true
	}
	ascend(x.unknown, k.prefix, k.start, add)
	if values == nil {
		x.postings.Scan(func(p posting) bool { return add(p.entry) })
	}
	for _, value := range values {
		x.ascend(value, k, add)
	}
	slices.SortFunc(found, func(a, b *Entry) int { return strings.Compare(a.Key, b.Key) })
	return found
}
