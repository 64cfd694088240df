package discovery

import (
	"container/list"
	"sync"

	"github.com/crd-server/crd-server/internal/wire"
)

// partKey names a part of a document. CRDs that change have other keys: a part never has to be checked.
type partKey struct {
	// digest is that of the CRDs that the part is about.
	digest   string
	version  string // empty: all served versions, in OpenAPI version 2
	protobuf bool
}

// part is what some CRDs contribute to a document. As protobuf it is all in definitions.
type part struct {
	paths, definitions wire.Deflated
	// names are those of the CRDs.
	names []string
}

func (p *part) bytes() int64 {
	const overhead = 512
	return int64(p.paths.Size()+p.definitions.Size()) + overhead
}

// partCache keeps the parts used last.
type partCache struct {
	limit int64

	mu    sync.Mutex // guards everything below
	bytes int64
	parts map[partKey]*list.Element // of *cachedPart
	used  *list.List                // the one used last is in front
	about map[string]map[partKey]struct{}
}

type cachedPart struct {
	key  partKey
	part *part
}

func newPartCache(limit int64) *partCache {
	return &partCache{
		limit: limit,
		parts: map[partKey]*list.Element{},
		used:  list.New(),
		about: map[string]map[partKey]struct{}{},
	}
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
	for _, name := range p.names {
		if c.about[name] == nil {
			c.about[name] = map[partKey]struct{}{}
		}
		c.about[name][key] = struct{}{}
	}
	for c.bytes > c.limit {
		c.removeLocked(c.used.Back().Value.(*cachedPart).key)
	}
}

// forget gives up the parts that a CRD has a share in.
func (c *partCache) forget(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key := range c.about[name] {
		c.removeLocked(key)
	}
}

func (c *partCache) removeLocked(key partKey) {
	element, ok := c.parts[key]
	if !ok {
		return
	}
	p := element.Value.(*cachedPart).part
	delete(c.parts, key)
	c.used.Remove(element)
	c.bytes -= p.bytes()
	for _, name := range p.names {
		if delete(c.about[name], key); len(c.about[name]) == 0 {
			delete(c.about, name)
		}
	}
}
