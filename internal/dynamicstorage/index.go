package dynamicstorage

import (
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/tidwall/btree"
)

// index finds entries by the stored value of one label. The index of a cache is guarded by the resource's mu. That of a
// snapshot is never modified.
type index struct {
	label    string
	postings *btree.BTreeG[posting]
	// unreadable are entries whose labels are not known. They are found for any value.
	unreadable *tree
	// used is the time of the last use, in nanoseconds since 1970. All copies share it.
	used *atomic.Int64
}

// posting is one entry in an index.
type posting struct {
	value string // shares the bytes of the entry's labels
	entry *Entry
}

// postingDegree makes nodes of up to 31 postings: larger than entries, so fewer.
const postingDegree = 16

func newIndex(label string) *index {
	less := func(a, b posting) bool {
		if a.value != b.value {
			return a.value < b.value
		}
		return a.entry.Key < b.entry.Key
	}
	return &index{
		label:      label,
		postings:   btree.NewBTreeGOptions(less, btree.Options{Degree: postingDegree, NoLocks: true}),
		unreadable: newTree(),
		used:       &atomic.Int64{},
	}
}

// buildIndex builds an index of the entries of a snapshot.
func buildIndex(label string, entries *tree) *index {
	x := newIndex(label)
	byValue := map[string][]posting{} // each in the order of keys
	entries.Scan(func(e *Entry) bool {
		if e.Err != nil {
			x.unreadable.Load(e)
		} else if value, ok := e.Header.Labels.Lookup(label); ok {
			byValue[value] = append(byValue[value], posting{value, e})
		}
		return true
	})
	for _, value := range slices.Sorted(maps.Keys(byValue)) {
		for _, p := range byValue[value] {
			x.postings.Load(p) // append
		}
	}
	return x
}

// apply applies a change of an object from prev to next; nil stands for no object.
func (x *index) apply(prev, next *Entry) {
	if prev != nil {
		x.unreadable.Delete(prev)
		if value, ok := prev.Header.Labels.Lookup(x.label); ok {
			x.postings.Delete(posting{value, prev})
		}
	}
	if next == nil {
		return
	}
	if next.Err != nil {
		x.unreadable.Set(next)
	} else if value, ok := next.Header.Labels.Lookup(x.label); ok {
		x.postings.Set(posting{value, next})
	}
}

// copy returns a copy of the index, which shares nodes until one of them changes.
func (x *index) copy() *index {
	c := *x
	c.postings, c.unreadable = x.postings.Copy(), x.unreadable.Copy()
	return &c
}

// keys is a range of keys: those that begin with prefix and are not before start.
type keys struct{ prefix, start string }

func (k keys) from() string { return max(k.prefix, k.start) }

func (k keys) has(key string) bool { return key >= k.from() && strings.HasPrefix(key, k.prefix) }

// count returns the number of entries that may have one of the values; nil stands for any value.
func (x *index) count(values []string, k keys) int {
	n := x.unreadable.Len()
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
	ascend(x.unreadable, k.prefix, k.start, add)
	if values == nil {
		x.postings.Scan(func(p posting) bool { return add(p.entry) })
	}
	for _, value := range values {
		x.ascend(value, k, add)
	}
	slices.SortFunc(found, func(a, b *Entry) int { return strings.Compare(a.Key, b.Key) })
	return found
}
