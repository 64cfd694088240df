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
)

// indexSet holds the indexes of one state of a resource. The snapshots of the state share it.
type indexSet struct {
	// cache is the cache that the state belongs to.
	cache *cache

	// mu guards the slice. The indexes in it are never modified.
	mu      sync.Mutex
	indexes []*index
}

func (s *indexSet) find(label string) *index {
	s.mu.Lock()
	defer s.mu.Unlock()
	return findIndex(s.indexes, label)
}

// put adds an index, or replaces that of the same label.
func (s *indexSet) put(x *index) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.indexes = with(s.indexes, x)
}

func findIndex(indexes []*index, label string) *index {
	for _, x := range indexes {
		if x.label == label {
			return x
		}
	}
	return nil
}

// with returns indexes with another one, which replaces that of the same label.
func with(indexes []*index, x *index) []*index {
	others := slices.DeleteFunc(slices.Clone(indexes), func(other *index) bool { return other.label == x.label })
	return append(others, x)
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
		x.apply(prev, next)
	}
}

// postingBytes estimates the memory of an entry in an index, with half-full nodes.
const postingBytes = 36

// indexBytes estimates the memory of the indexes.
func (c *cache) indexBytes() (bytes int64) {
	for _, x := range c.indexes {
		bytes += int64(x.postings.Len()+x.unreadable.Len()) * postingBytes
	}
	return bytes
}

// hasRoom reports whether there may be an index.
func (c *cache) hasRoom(label string) bool {
	return len(c.indexes) < maxIndexes || findIndex(c.indexes, label) != nil
}

// makeIndex builds an index of a snapshot, for it and for later snapshots. It returns nil if another index is being
// built or there are too many.
func (s *Snapshot) makeIndex(label string) *index {
	c, r := s.indexes.cache, s.resource
	if !c.indexing.CompareAndSwap(false, true) {
		return nil
	}
	defer c.indexing.Store(false)
	r.mu.RLock()
	room := c.hasRoom(label)
	r.mu.RUnlock()
	if !room {
		return nil
	}
	x := buildIndex(label, s.entries)
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
	if r.cache != c || r.ring.floor > s.since || !c.hasRoom(x.label) {
		return
	}
	for _, event := range r.ring.since(s.since) {
		live.apply(event.Prev, event.Entry)
	}
	c.indexes = with(c.indexes, live)
	if c.frozen != nil && c.frozen != s.indexes {
		c.frozen.put(live.copy())
	}
}

// dropIndexes drops unused indexes.
func (r *Resource) dropIndexes(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cache == nil {
		return
	}
	c, before := r.cache, len(r.cache.indexes)
	c.indexes = slices.DeleteFunc(slices.Clone(c.indexes), func(x *index) bool {
		return now.UnixNano()-x.used.Load() >= int64(unusedFor)
	})
	if len(c.indexes) != before && c.frozen != nil {
		c.frozen = c.freeze()
	}
}
