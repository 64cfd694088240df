package server

import (
	"sync"
	"time"
)

const (
	// mostAllowance is by how much more the heap may grow during a burst, in bytes.
	mostAllowance = 64 << 20
	// allowanceStep is what allowances are multiples of: a new one stops the world, and little work is not worth any.
	allowanceStep = 32 << 20
	// burstPause without new work is the end of a burst.
	burstPause = time.Second
)

// What is announced, in bytes: about what it takes to write a CustomResourceDefinition, with the first object of it, and to describe one
// in OpenAPI.
const (
	garbageWritten   = 2 << 20
	garbageDescribed = 2 << 20
)

// burst is rare work that makes much garbage and is waited for: CRDs that are created one after the other, documents that describe all
// of them. While it lasts the heap may grow by about what it has announced, so that the collector takes less of the processors; afterwards
// the heap is what it was, and releaseMemory gives back what the burst took. What servers do all day is no burst.
type burst struct {
	// poked has something in it when the growth of the heap is to be looked at.
	poked chan struct{}

	mu sync.Mutex // guards all below
	// announced are the bytes of garbage that were announced since the last pause.
	announced uint64
	pause     *time.Timer // nil before the first burst
	// left says that a burst has ended since the last call of takeLeft.
	left bool
}

func newBurst() *burst { return &burst{poked: make(chan struct{}, 1)} }

// announce says that about so many bytes of garbage are about to be made.
func (b *burst) announce(bytes uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.allowanceLocked()
	b.announced += bytes
	if b.pause == nil {
		b.pause = time.AfterFunc(burstPause, b.end)
	} else {
		b.pause.Reset(burstPause)
	}
	if b.allowanceLocked() != before {
		b.poke()
	}
}

// end is called when there was a pause.
func (b *burst) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left = b.left || b.allowanceLocked() > 0
	b.announced = 0
	b.poke()
}

// takeLeft says, once, that a burst has left memory behind.
func (b *burst) takeLeft() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	left := b.left
	b.left = false
	return left
}

// allowance is by how many bytes more the heap may grow now.
func (b *burst) allowance() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.allowanceLocked()
}

func (b *burst) allowanceLocked() uint64 {
	return min(b.announced, mostAllowance) / allowanceStep * allowanceStep
}

// poke asks for a look at the growth of the heap.
func (b *burst) poke() {
	select {
	case b.poked <- struct{}{}:
	default: // is asked for
	}
}
