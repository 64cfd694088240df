package dynamicstorage

import (
	"slices"
	"sync"
	"time"
)

const (
	// minIndexed is the least number of entries of a resource with indexes. Fewer entries are scanned.
	minIndexed = 256
	// maxIndexes bounds the indexes of a resource. Further ones are made only after the janitor has dropped an unused
	// one.
	maxIndexes = 8
	// unusedFor is the time after which an unused index is dropped.
	unusedFor = 5 * time.Minute
	// maxResolvable is the number of unknown entries with known values at which an index is built again. Fewer are
	// looked at by every use of the index.
	maxResolvable = 64
)

// indexSet holds the indexes of one state of a resource. The snapshots of the state share it.
type indexSet struct {
	// cache is the cache that the state belongs to.
	cache *cache

	// mu guards the slice. The indexes in it are never modified.
	mu      sync.Mutex
	indexes []*index
}

func (s *indexSet) find(key indexKey) *index {
	s.mu.Lock()
	defer s.mu.Unlock()
	return findIndex(s.indexes, key)
}

// put adds an index, or replaces that of the same key.
func (s *indexSet) put(x *index) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.indexes = append(without(s.indexes, x.indexKey), x)
}

func findIndex(indexes []*index, key indexKey) *index {
	for _, x := range indexes {
		if x.indexKey == key {
			return x
		}
	}
	return nil
}

func without(indexes []*index, key indexKey) []*index {
	return slices.DeleteFunc(slices.Clone(indexes), func(x *index) bool { return x.indexKey == key })
}

// freeze returns copies of the present indexes.
func (c *cache) freeze() *indexSet {
	s := &indexSet{cache: c}
	for _, x := range c.indexes {
		s.indexes = append(s.indexes, x.copy())
	}
	return s
}

// updateIndexes applies a change of an object to the indexes.
func (c *cache) updateIndexes(prev, next *Entry) {
	for _, x := range c.indexes {
		if x.closed() { // its views are being dropped, so it can no longer find entries
			c.indexes = without(c.indexes, x.indexKey)
			continue
		}
		x.apply(prev, next)
	}
}

// postingBytes estimates the memory of an entry in an index, with half-full nodes.
const postingBytes = 36

// indexBytes estimates the memory of the indexes.
func (c *cache) indexBytes() (bytes int64) {
	for _, x := range c.indexes {
		bytes += int64(x.postings.Len()+x.unknown.Len()) * postingBytes
	}
	return bytes
}

// hasRoom reports whether there may be an index.
func (c *cache) hasRoom(key indexKey) bool {
	return len(c.indexes) < maxIndexes || findIndex(c.indexes, key) != nil
}

// makeIndex builds an index of a snapshot, for it and for later snapshots. It returns nil if another index is being
// built or there are too many.
func (s *Snapshot) makeIndex(key indexKey) *index {
	c, r := s.indexes.cache, s.resource
	if !c.indexing.CompareAndSwap(false, true) {
		return nil
	}
	defer c.indexing.Store(false)
	r.mu.RLock()
	room := c.hasRoom(key)
	r.mu.RUnlock()
	if !room {
		return nil
	}
	x := buildIndex(key, s.entries)
	x.used.Store(r.store.options.Clock.Now().UnixNano())
	s.indexes.put(x)
	r.adopt(x, s)
	return x
}

// adopt adds a copy of a snapshot's index to the cache, up to date.
func (r *Resource) adopt(x *index, s *Snapshot) {
	live := x.copy()
	r.mu.Lock()
	defer r.mu.Unlock()
	c := s.indexes.cache
	if r.cache != c || r.ring.floor > s.since || !c.hasRoom(x.indexKey) {
		return
	}
	for _, event := range r.ring.since(s.since) {
		live.apply(event.Prev, event.Entry)
	}
	c.indexes = append(without(c.indexes, x.indexKey), live)
	if c.frozen != nil && c.frozen != s.indexes {
		c.frozen.put(live.copy())
	}
}

// dropIndexes drops indexes of closed viewers and unused ones.
func (r *Resource) dropIndexes(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cache == nil {
		return
	}
	c, before := r.cache, len(r.cache.indexes)
	c.indexes = slices.DeleteFunc(slices.Clone(c.indexes), func(x *index) bool {
		return x.closed() || now.UnixNano()-x.used.Load() >= int64(unusedFor)
	})
	if len(c.indexes) != before && c.frozen != nil {
		c.frozen = c.freeze()
	}
}
