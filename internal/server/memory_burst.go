package server

import (
	"math/bits"
	"sync"
	"time"
)

const (
	// mostAllowance is by how much more the heap may grow during a burst, in bytes.
	mostAllowance = 64 << 20
	// mostWaited is by how much more than that it may grow for work that a client waits for, where there is enough memory: that much of
	// it, of what the process may use.
	mostWaited  = 2 << 30
	waitedShare = 8
	// allowanceStep is the least allowance; others are twice another one: a new one stops the world, and little work is not worth any.
	allowanceStep = 32 << 20
	// burstPause without new work is the end of a burst.
	burstPause = time.Second
)

// What is announced, in bytes: about what it takes to write a CustomResourceDefinition, with the first object of it, and to describe one
// in OpenAPI; and for one that is used in the next request as much again as two take: the allowance has to be ahead of the work.
const (
	garbageWritten   = 2 << 20
	garbageUsed      = 4 << 20
	garbageDescribed = 2 << 20
)

// burst is rare work that makes much garbage and is waited for: CRDs that are created one after the other, documents that describe all
// of them. While it lasts the heap may grow by about what it has announced, so that the collector takes less of the processors; afterwards
// the heap is what it was, and releaseMemory gives back what the burst took. What servers do all day is no burst.
//
// Who creates a CRD and uses it in the next request waits for both, and for the collector, which has every processor that is idle: requests
// take three times as long while it scans. Hence that work may put it off for longer.
type burst struct {
	// poked has something in it when the growth of the heap is to be looked at.
	poked chan struct{}
	// mostWaited bounds the allowance for what is waited for.
	mostWaited uint64

	mu sync.Mutex // guards all below
	// announced are the bytes of garbage that were announced since the last pause, waited those of them that somebody waits for.
	announced, waited uint64
	pause             *time.Timer // nil before the first burst
	// left says that a burst has ended since the last call of takeLeft.
	left bool
}

// newBurst returns a burst for a process that may use so much memory; 0 if that is not known.
func newBurst(memory uint64) *burst {
	return &burst{poked: make(chan struct{}, 1), mostWaited: min(memory/waitedShare, mostWaited)}
}

// announce says that about so many bytes of garbage are about to be made.
func (b *burst) announce(bytes uint64) { b.add(bytes, 0) }

// announceWaited is announce for what a single client waits for, and does nothing else.
func (b *burst) announceWaited(bytes uint64) { b.add(bytes, bytes) }

func (b *burst) add(announced, waited uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.allowanceLocked()
	b.announced += announced
	b.waited += waited
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
	b.announced, b.waited = 0, 0
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

// isWaitedFor says that somebody waits for what is being done.
func (b *burst) isWaitedFor() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.waited > 0
}

// allowance is by how many bytes more the heap may grow now.
func (b *burst) allowance() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.allowanceLocked()
}

func (b *burst) allowanceLocked() uint64 {
	steps := (min(b.announced, mostAllowance) + min(b.waited, b.mostWaited)) / allowanceStep
	if steps == 0 {
		return 0
	}
	return allowanceStep << (bits.Len64(steps) - 1)
}

// poke asks for a look at the growth of the heap.
func (b *burst) poke() {
	select {
	case b.poked <- struct{}{}:
	default: // is asked for
	}
}
