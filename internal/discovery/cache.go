package discovery

import (
	"container/list"
	"sync"
)

// partKey names a part of a document. A CRD that changes has other keys: a part never has to be checked.
type partKey struct {
	name, specHash string
	version        string // empty: all served versions, in OpenAPI version 2
	protobuf       bool
}

// part is what one CRD contributes to a document. As protobuf it is all in definitions.
type part struct {
	paths, definitions block
}

func (p *part) bytes() int64 {
	const overhead = 512
	return int64(len(p.paths.deflated)+len(p.definitions.deflated)) + overhead
}

// partCache keeps the parts used last.
type partCache struct {
	limit int64

	mu    sync.Mutex // guards everything below
	bytes int64
	parts map[partKey]*list.Element // of *cachedPart
	used  *list.List                // the one used last is in front
}

type cachedPart struct {
	key  partKey
	part *part
}

func newPartCache(limit int64) *partCache {
	return &partCache{limit: limit, parts: map[partKey]*list.Element{}, used: list.New()}
}

func (c *partCache) get(key partKey) *part {
	c.mu.Lock()
	defer c.mu.Unlock()
	element, ok := c.parts[key]
	if !ok {
		return nil
	}
	c.used.MoveToFront(element)
	return element.Value.(*cachedPart).part
}

func (c *partCache) put(key partKey, p *part) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.removeLocked(key)
	c.parts[key] = c.used.PushFront(&cachedPart{key: key, part: p})
	c.bytes += p.bytes()
	for c.bytes > c.limit {
		c.removeLocked(c.used.Back().Value.(*cachedPart).key)
	}
}

func (c *partCache) remove(key partKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.removeLocked(key)
}

func (c *partCache) removeLocked(key partKey) {
	if element, ok := c.parts[key]; ok {
		delete(c.parts, key)
		c.used.Remove(element)
		c.bytes -= element.Value.(*cachedPart).part.bytes()
	}
}
