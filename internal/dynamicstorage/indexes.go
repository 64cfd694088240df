package dynamicstorage

import (
	"slices"
	"sync"
	"time"
)

const (
	// minIndexed is the least number of entries that are indexed; fewer are looked at one by one.
	minIndexed = 256
	// maxIndexes is the most indexes of a resource. One that nobody has asked for busyFor makes room for another.
	maxIndexes = 8
	busyFor    = 10 * time.Second
	// unusedFor is how long an index may go unused before its memory is given back.
	unusedFor = 5 * time.Minute
	// maxResolved is how many entries are put to their place in an index while the resource is locked. When there are more, the index is
	// made anew.
	maxResolved = 1024
)

// frozen are the indexes of one state of a resource, shared by its snapshots.
type frozen struct {
	// cache is that the state was, or is, of.
	cache *cache

	// mu guards indexes. They are never modified; when one is made it is added.
	mu      sync.Mutex
	indexes []*index
}

func (f *frozen) find(key indexKey) *index {
	f.mu.Lock()
	defer f.mu.Unlock()
	return findIndex(f.indexes, key)
}

// put adds an index, in place of one of the same.
func (f *frozen) put(x *index) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.indexes = append(without(f.indexes, x.indexKey), x)
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

// freeze returns the indexes as they are now.
func (c *cache) freeze() *frozen {
	f := &frozen{cache: c}
	for _, x := range c.indexes {
		f.indexes = append(f.indexes, x.copy())
	}
	return f
}

// index has the indexes follow a change.
func (c *cache) index(prev, next *Entry) {
	for _, x := range c.indexes {
		if x.closed() { // its views go, so it cannot know any more where an entry is
			c.indexes = without(c.indexes, x.indexKey)
			continue
		}
		x.apply(prev, next)
	}
}

// postingBytes is about what an entry takes in an index, half-full nodes included.
const postingBytes = 36

// indexBytes is about the memory that the indexes take.
func (c *cache) indexBytes() (bytes int64) {
	for _, x := range c.indexes {
		bytes += int64(x.postings.Len()+x.unknown.Len()) * postingBytes
	}
	return bytes
}

// closed says that the index is of a viewer that is not in use any more.
func (k indexKey) closed() bool { return k.viewer != nil && k.viewer.closed.Load() }

// makeRoom says whether there may be an index, dropping the one that was unused for the longest time if that is for long.
func (c *cache) makeRoom(key indexKey, now time.Time) bool {
	if len(c.indexes) < maxIndexes || findIndex(c.indexes, key) != nil {
		return true
	}
	oldest := slices.MinFunc(c.indexes, func(a, b *index) int { return int(a.used.Load() - b.used.Load()) })
	if oldest.idle(now) < busyFor {
		return false
	}
	c.indexes = without(c.indexes, oldest.indexKey)
	return true
}

func (x *index) idle(now time.Time) time.Duration {
	return time.Duration(now.UnixNano() - x.used.Load())
}

// makeIndex makes an index of a snapshot, for it and for the snapshots to come. Nil: another one is being made, or there are
// too many in use.
func (s *Snapshot) makeIndex(key indexKey) *index {
	c, r := s.indexes.cache, s.resource
	if !c.indexing.CompareAndSwap(false, true) {
		return nil
	}
	defer c.indexing.Store(false)
	now := r.store.options.Clock.Now()
	r.mu.Lock()
	room := c.makeRoom(key, now)
	r.mu.Unlock()
	if !room {
		return nil
	}
	x := buildIndex(key, s.entries)
	x.used.Store(now.UnixNano())
	s.indexes.put(x)
	r.adopt(x, s)
	return x
}

// adopt brings an index of a snapshot up to date, and has the cache keep it so.
func (r *Resource) adopt(x *index, s *Snapshot) {
	live := x.copy()
	r.mu.Lock()
	defer r.mu.Unlock()
	c := s.indexes.cache
	if r.cache != c || r.ring.floor > s.since || !c.makeRoom(x.indexKey, r.store.options.Clock.Now()) {
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

// settled returns an index of the snapshot with what has become known since it was made.
func (s *Snapshot) settled(x *index) *index {
	known := x.resolvable()
	switch {
	case len(known) == 0:
		return x
	case len(known) > maxResolved:
		if made := s.makeIndex(x.indexKey); made != nil {
			return made
		}
		return x
	}
	r, c := s.resource, s.indexes.cache
	r.mu.Lock()
	defer r.mu.Unlock()
	live := findIndex(c.indexes, x.indexKey)
	if live == nil {
		return x
	}
	live.resolve(known)
	if c.frozen != s.indexes {
		return x // outdated itself; the next one has it
	}
	x = live.copy()
	s.indexes.put(x)
	return x
}

// dropIndexes drops indexes that nobody will ask, or has asked for long.
func (r *Resource) dropIndexes(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cache == nil {
		return
	}
	c, before := r.cache, len(r.cache.indexes)
	c.indexes = slices.DeleteFunc(slices.Clone(c.indexes), func(x *index) bool { return x.closed() || x.idle(now) >= unusedFor })
	if len(c.indexes) != before && c.frozen != nil {
		c.frozen = c.freeze()
	}
}
