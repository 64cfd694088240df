package crdhandler

import (
	"container/list"
	"sync"
)

// defaultSchemaCacheBytes holds the compiled schemas of about five hundred large CRDs.
const defaultSchemaCacheBytes = 256 << 20

// schemaCache bounds the memory of compiled schemas. When they take more than limit bytes, it evicts the least recently
// used ones, which are compiled again on their next use. A request that uses evicted schemas keeps them until it ends.
type schemaCache struct {
	limit int64

	mu    sync.Mutex // guards bytes, lru and the fields of its elements, but is not held while compiling
	bytes int64
	lru   *list.List // of *cachedSchemas that hold a value, the most recently used in front
}

func newSchemaCache(limit int64) *schemaCache {
	if limit <= 0 {
		limit = defaultSchemaCacheBytes
	}
	return &schemaCache{limit: limit, lru: list.New()}
}

// add returns the cached schemas of one CRD, which call compile when the cache holds none.
func (c *schemaCache) add(compile func() (*compiled, error)) *cachedSchemas {
	return &cachedSchemas{cache: c, compile: compile}
}

// cachedSchemas holds the compiled schemas of one CRD unless they have been evicted.
type cachedSchemas struct {
	cache   *schemaCache
	compile func() (*compiled, error)

	compiling sync.Mutex // held while compiling, so that concurrent requests compile once

	// The cache's mu guards the fields below.
	value   *compiled
	element *list.Element // in cache.lru; nil without a value
	bytes   int64         // counted in cache.bytes
	retired bool          // the CRD has changed: nothing is cached any more
}

// get returns the compiled schemas of the CRD. They stay usable after an eviction.
func (s *cachedSchemas) get() (*compiled, error) {
	if value := s.cached(); value != nil {
		return value, nil
	}
	s.compiling.Lock()
	defer s.compiling.Unlock()
	if value := s.cached(); value != nil {
		return value, nil
	}
	value, err := s.compile()
	if err != nil {
		return nil, err
	}
	c := s.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	if !s.retired {
		s.value, s.element = value, c.lru.PushFront(s)
		s.resizeLocked()
	}
	return value, nil
}

// cached returns the value and marks it as used, or returns nil.
func (s *cachedSchemas) cached() *compiled {
	c := s.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.value != nil {
		c.lru.MoveToFront(s.element)
	}
	return s.value
}

// updateSize counts the parts that have been compiled since the last call and evicts other schemas if necessary.
// Requests compile parts as they need them, so it is called at the end of each request.
func (s *cachedSchemas) updateSize() {
	s.cache.mu.Lock()
	defer s.cache.mu.Unlock()
	if s.value != nil {
		s.resizeLocked()
	}
}

// resizeLocked never evicts s itself, even if it is larger than the limit.
func (s *cachedSchemas) resizeLocked() {
	c := s.cache
	c.lru.MoveToFront(s.element)
	bytes := s.value.bytes()
	c.bytes += bytes - s.bytes
	s.bytes = bytes
	for c.bytes > c.limit {
		last := c.lru.Back().Value.(*cachedSchemas)
		if last == s {
			break
		}
		last.removeLocked()
		schemaCacheEvictions.Inc()
	}
	schemaCacheBytes.Set(float64(c.bytes))
}

func (s *cachedSchemas) removeLocked() {
	if s.value == nil {
		return
	}
	s.cache.lru.Remove(s.element)
	s.cache.bytes -= s.bytes
	s.value, s.element, s.bytes = nil, nil, 0
}

// retire removes the schemas for good because their CRD has changed.
func (s *cachedSchemas) retire() {
	c := s.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	s.removeLocked()
	s.retired = true
	schemaCacheBytes.Set(float64(c.bytes))
}
