package crdhandler

import (
	"container/list"
	"sync"
	"sync/atomic"
)

// defaultSchemaCacheBytes holds what some five hundred large CRDs in use compile to.
const defaultSchemaCacheBytes = 256 << 20

// schemaCache bounds the memory of what is compiled of schemas. What has not been used for longest is given up when there is
// too much, and compiled again when it is asked for; whoever is using it keeps it as long as that takes.
//
// Use is not recorded in order, which would make every request take the lock: it is marked, and the mark is looked at
// when something is to go.
type schemaCache struct {
	limit int64

	mu    sync.Mutex // guards all below. Nothing is compiled while it is held.
	bytes int64
	slots *list.List // of *schemaSlot that hold something; those looked at last are in front
}

func newSchemaCache(limit int64) *schemaCache {
	if limit <= 0 {
		limit = defaultSchemaCacheBytes
	}
	return &schemaCache{limit: limit, slots: list.New()}
}

// schemaSlot is the place of what is compiled of one CRD.
type schemaSlot struct {
	cache   *schemaCache
	compile func() (*compiled, error)

	building sync.Mutex // held while compiling, so that nothing is compiled twice at a time
	built    atomic.Pointer[compiled]
	used     atomic.Bool  // since it was looked at
	weighed  atomic.Int64 // the bytes that are counted for it

	// The cache's mu guards these.
	element *list.Element // nil: holds nothing
	retired bool
}

// get returns what is compiled of the CRD. It stays usable, and complete, when it is evicted.
func (s *schemaSlot) get() (*compiled, error) {
	c := s.built.Load()
	if c == nil {
		var err error
		if c, err = s.build(); err != nil {
			return nil, err
		}
	}
	if !s.used.Load() {
		s.used.Store(true)
	}
	s.weigh()
	return c, nil
}

// weigh counts what has been compiled since it was called last. Parts are compiled as requests need them, so it is also called
// when one ends.
func (s *schemaSlot) weigh() {
	c := s.built.Load()
	if c == nil {
		return
	}
	if bytes := c.bytes(); bytes != s.weighed.Load() {
		s.cache.count(s, c, bytes)
	}
}

func (s *schemaSlot) build() (*compiled, error) {
	s.building.Lock()
	defer s.building.Unlock()
	if c := s.built.Load(); c != nil {
		return c, nil
	}
	c, err := s.compile()
	if err != nil {
		return nil, err
	}
	s.built.Store(c)
	return c, nil
}

// count counts the bytes of a slot, and evicts others if that is too much.
func (c *schemaCache) count(s *schemaSlot, held *compiled, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.retired || s.built.Load() != held {
		return // given up in the meantime
	}
	if s.element == nil {
		s.element = c.slots.PushFront(s)
	}
	c.bytes += bytes - s.weighed.Swap(bytes)
	c.evictLocked(s)
	schemaCacheBytes.Set(float64(c.bytes))
}

// evictLocked gives up what has not been used since it was last looked at, from the one looked at longest ago. The
// slot being used stays, even if it is too large by itself.
func (c *schemaCache) evictLocked(using *schemaSlot) {
	// In a second round everything that was used in between may go, so that this ends.
	for looked, most := 0, 2*c.slots.Len(); c.bytes > c.limit && looked < most; looked++ {
		last := c.slots.Back()
		s := last.Value.(*schemaSlot)
		if s == using || s.used.Swap(false) {
			c.slots.MoveToFront(last)
			continue
		}
		c.dropLocked(s)
		schemaCacheEvictions.Inc()
	}
}

func (c *schemaCache) dropLocked(s *schemaSlot) {
	if s.element == nil {
		return
	}
	c.slots.Remove(s.element)
	s.element = nil
	c.bytes -= s.weighed.Swap(0)
	s.built.Store(nil)
}

// retire gives up what a slot holds, for good: its CRD has changed.
func (s *schemaSlot) retire() {
	c := s.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dropLocked(s)
	s.retired = true
	schemaCacheBytes.Set(float64(c.bytes))
}
