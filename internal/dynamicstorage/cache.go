package dynamicstorage

import (
	"sort"
	"strings"
	"sync/atomic"

	"github.com/tidwall/btree"
)

// treeDegree makes nodes of up to 63 entries. A change after a snapshot copies one node, half a kilobyte, for each level.
const treeDegree = 32

// tree holds entries in the order of their keys. It finds them by key and by position. A copy is free: the two trees share
// nodes until one of them changes a node. Copying and changing need a lock. Reading a tree that does not change needs none,
// even if trees that share its nodes change.
type tree = btree.BTreeG[*Entry]

func newTree() *tree {
	return btree.NewBTreeGOptions(func(a, b *Entry) bool { return a.Key < b.Key }, btree.Options{Degree: treeDegree, NoLocks: true})
}

// cache is the state of a resource: its entries in the order of their keys. The resource's mu guards it.
type cache struct {
	entries *tree
	// changed is the revision of the last change. The entries are the state of every revision from it to that of the feed.
	changed int64
	// loaded is the revision that the entries were read at. They include all older events.
	loaded int64
	// bytes estimates the memory of the entries.
	bytes int64
	// clone and frozen are the present entries and indexes for snapshots. They are never modified, but dropped by a change.
	clone  *tree
	frozen *indexSet
	// indexes follow the changes. Readers make them on demand.
	indexes []*index
	// indexing is true while an index is being made.
	indexing atomic.Bool
}

func newCache(entries *tree, revision int64) *cache {
	c := &cache{entries: entries, changed: revision, loaded: revision}
	entries.Scan(func(e *Entry) bool {
		c.bytes += e.size()
		return true
	})
	return c
}

func (c *cache) get(key string) *Entry {
	e, _ := c.entries.Get(&Entry{Key: key})
	return e
}

// apply stores e, or deletes key if e is nil. It returns the event. It reports false if the change is not new.
func (c *cache) apply(key string, e *Entry, revision int64) (Event, bool) {
	old := c.get(key)
	if revision <= c.loaded || old != nil && revision <= old.Revision || old == nil && e == nil {
		return Event{}, false
	}
	if e != nil {
		c.entries.Set(e)
		c.bytes += e.size()
	} else {
		c.entries.Delete(old)
	}
	if old != nil {
		c.bytes -= old.size()
	}
	c.changed = max(c.changed, revision)
	c.clone, c.frozen = nil, nil
	c.updateIndexes(old, e)
	return Event{Revision: revision, Entry: e, Prev: old}, true
}

// snapshot returns the present entries and indexes. The caller must not modify them.
func (c *cache) snapshot() (*tree, *indexSet) {
	if c.clone == nil {
		c.clone, c.frozen = c.entries.Copy(), c.freeze()
	}
	return c.clone, c.frozen
}

// undo returns the entries as they were before the last events.
func (c *cache) undo(events []Event) *tree {
	entries := c.entries.Copy()
	for i := len(events) - 1; i >= 0; i-- {
		if prev := events[i].Prev; prev != nil {
			entries.Set(prev)
		} else {
			entries.Delete(events[i].Entry)
		}
	}
	return entries
}

// ascend calls f for the entries whose keys begin with prefix and are not before start, in order, until it returns false.
func ascend(entries *tree, prefix, start string, f func(*Entry) bool) {
	entries.Ascend(&Entry{Key: max(prefix, start)}, func(e *Entry) bool {
		return strings.HasPrefix(e.Key, prefix) && f(e)
	})
}

// rank returns the number of items at the beginning of a sorted tree for which before is true.
func rank[T any](items *btree.BTreeG[T], before func(T) bool) int {
	return sort.Search(items.Len(), func(n int) bool {
		item, _ := items.GetAt(n)
		return !before(item)
	})
}

// count returns the number of entries whose keys begin with prefix and are not before start.
func count(entries *tree, prefix, start string) int {
	from := max(prefix, start)
	end := rank(entries, func(e *Entry) bool { return e.Key < from || strings.HasPrefix(e.Key, prefix) })
	if from == "" {
		return end
	}
	return end - rank(entries, func(e *Entry) bool { return e.Key < from })
}
