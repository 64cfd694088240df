package listing

import (
	"runtime"
	"sync"
	"weak"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/wire"
)

// Chunks keeps lists compressed, in chunks of neighbouring objects, for clients that list the same objects again. The
// end of a chunk depends on its objects alone (chunkLength), so a changed, inserted or deleted object costs the
// compression of its own chunk and of no other.
//
// There is one for each version of a resource. It keeps no object alive: a chunk is dropped when its first object is
// collected, or when another chunk begins with that object. The zero value is ready for use.
type Chunks struct {
	// mu guards the fields below, and charged of each chunk.
	mu sync.Mutex
	// byFirst holds chunks by the key of their first object.
	byFirst map[string]*chunk
	// size is the memory of all chunks, budget its limit; 0 means chunksBudget.
	size, budget int
}

// chunksBudget is the limit for a version of a resource, in bytes. Lists of everything take a twentieth of the objects;
// only many selectors, or pages with many different beginnings, reach it.
const chunksBudget = 64 << 20

// chunk is a sequence of objects, compressed as a list contains them.
type chunk struct {
	// entries are the objects. An entry is one object at one revision: the same entries have the same text.
	entries []weak.Pointer[dynamicstorage.Entry]
	// compress makes text once, however many lists need it at the same time.
	compress sync.Once
	text     wire.Deflated
	// charged is the chunk's share of size; 0 before text is made.
	charged int
	// released is the cleanup of the first entry.
	released runtime.Cleanup
}

// entryCost is the memory for one entry of a chunk: its weak pointer, and what the runtime keeps for it.
const entryCost = 48

// begins reports whether entries begin with those of the chunk.
func (c *chunk) begins(entries []*dynamicstorage.Entry) bool {
	if len(c.entries) > len(entries) {
		return false
	}
	for n, entry := range c.entries {
		if entry.Value() != entries[n] {
			return false
		}
	}
	return true
}

// find returns the chunk that entries begin with, or nil.
func (c *Chunks) find(entries []*dynamicstorage.Entry) *chunk {
	c.mu.Lock()
	kept := c.byFirst[entries[0].Key]
	c.mu.Unlock()
	if kept == nil || !kept.begins(entries) {
		return nil
	}
	return kept
}

// add returns the chunk of exactly these entries, and keeps it. It drops another one that begins with the same key.
func (c *Chunks) add(entries []*dynamicstorage.Entry) *chunk {
	added := &chunk{entries: make([]weak.Pointer[dynamicstorage.Entry], len(entries))}
	for n, entry := range entries {
		added.entries[n] = weak.Make(entry)
	}
	first := entries[0]
	c.mu.Lock()
	defer c.mu.Unlock()
	if kept := c.byFirst[first.Key]; kept != nil {
		if len(kept.entries) == len(entries) && kept.begins(entries) {
			return kept
		}
		c.dropLocked(first.Key, kept)
	}
	if c.byFirst == nil {
		c.byFirst = map[string]*chunk{}
	}
	c.byFirst[first.Key] = added
	// A weak pointer, so that the entry does not keep the chunks of a version that is no longer served.
	chunks, key := weak.Make(c), first.Key
	added.released = runtime.AddCleanup(first, func(key string) {
		if c := chunks.Value(); c != nil {
			c.dropReleased(key)
		}
	}, key)
	return added
}

// dropReleased drops the chunk at key if its first entry was collected.
func (c *Chunks) dropReleased(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if kept := c.byFirst[key]; kept != nil && kept.entries[0].Value() == nil {
		c.dropLocked(key, kept)
	}
}

func (c *Chunks) dropLocked(key string, dropped *chunk) {
	delete(c.byFirst, key)
	c.size -= dropped.charged
	dropped.charged = 0
	dropped.released.Stop()
}

// compressed returns the text of the chunk at key. The first caller makes it.
func (c *Chunks) compressed(key string, of *chunk, deflate func() wire.Deflated) wire.Deflated {
	of.compress.Do(func() {
		of.text = deflate()
		c.charge(key, of)
	})
	return of.text
}

// charge counts a chunk whose text was made, and drops others while they exceed the budget. It drops any of them: lists
// read all chunks in order, so the least recently used one is needed next.
func (c *Chunks) charge(key string, made *chunk) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byFirst[key] != made {
		return
	}
	made.charged = made.text.Size() + len(made.entries)*entryCost
	c.size += made.charged
	budget := c.budget
	if budget == 0 {
		budget = chunksBudget
	}
	for other, kept := range c.byFirst {
		if c.size <= budget {
			break
		}
		c.dropLocked(other, kept)
	}
}
