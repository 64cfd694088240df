package crdhandler

import (
	"runtime"
	"sync"
	"weak"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/wire"
)

// runs keeps lists compressed, in runs of objects that follow each other, for those who list the same objects again. Where a
// run ends depends on its objects alone (runLength), so a change, an insertion or a deletion is compressed
// with its neighbours, and nothing else is compressed anew.
//
// There is one for each version of a resource. It keeps no object alive: a run goes with its first object, or
// when the run that begins there has become another one. The zero value is ready for use.
type runs struct {
	// mu guards the fields below, and charged of each run.
	mu sync.Mutex
	// byFirst holds runs by the key of their first object.
	byFirst map[string]*run
	// size is what all runs take, budget the most it may be; 0: runsBudget.
	size, budget int
}

// runsBudget bounds what is kept for a version of a resource, in bytes. Lists of everything take a twentieth of the
// objects; only selectors and pages that begin anywhere can reach it.
const runsBudget = 64 << 20

// run is a sequence of objects compressed as a list has them.
type run struct {
	// entries are the objects. An entry is one object at one revision: the same entries have the same text.
	entries []weak.Pointer[dynamicstorage.Entry]
	// deflating lets one of those who want the text make it.
	deflating sync.Once
	text      wire.Deflated
	// charged is what the run takes of the budget: nothing before its text is made.
	charged int
	// released ends the watch over the first entry.
	released runtime.Cleanup
}

// entryCost is what remembering an entry takes: its weak pointer and what the runtime keeps for it.
const entryCost = 48

// is says whether entries begin with those of the run.
func (r *run) is(entries []*dynamicstorage.Entry) bool {
	if len(r.entries) > len(entries) {
		return false
	}
	for n, entry := range r.entries {
		if entry.Value() != entries[n] {
			return false
		}
	}
	return true
}

// find returns the run that entries begin with, nil if none is kept.
func (r *runs) find(entries []*dynamicstorage.Entry) *run {
	r.mu.Lock()
	kept := r.byFirst[entries[0].Key]
	r.mu.Unlock()
	if kept == nil || !kept.is(entries) {
		return nil
	}
	return kept
}

// keep returns the run of exactly these entries, kept from now on. Another one that begins with the same object is dropped.
func (r *runs) keep(entries []*dynamicstorage.Entry) *run {
	made := &run{entries: make([]weak.Pointer[dynamicstorage.Entry], len(entries))}
	for n, entry := range entries {
		made.entries[n] = weak.Make(entry)
	}
	first := entries[0]
	r.mu.Lock()
	defer r.mu.Unlock()
	if kept := r.byFirst[first.Key]; kept != nil {
		if len(kept.entries) == len(entries) && kept.is(entries) {
			return kept
		}
		r.dropLocked(first.Key, kept)
	}
	if r.byFirst == nil {
		r.byFirst = map[string]*run{}
	}
	r.byFirst[first.Key] = made
	made.released = runtime.AddCleanup(first, forget, place{runs: weak.Make(r), key: first.Key})
	return made
}

// place is where a run is found. It does not keep the runs of a version that is served no more.
type place struct {
	runs weak.Pointer[runs]
	key  string
}

// forget drops the run at a place if its first entry is gone.
func forget(at place) {
	r := at.runs.Value()
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if kept := r.byFirst[at.key]; kept != nil && kept.entries[0].Value() == nil {
		r.dropLocked(at.key, kept)
	}
}

func (r *runs) dropLocked(key string, dropped *run) {
	delete(r.byFirst, key)
	r.size -= dropped.charged
	dropped.charged = 0
	dropped.released.Stop()
}

// deflated returns the text of a run that begins with the object at key; the first who asks makes it.
func (r *runs) deflated(key string, of *run, deflate func() wire.Deflated) wire.Deflated {
	of.deflating.Do(func() {
		of.text = deflate()
		r.charge(key, of)
	})
	return of.text
}

// charge counts a run whose text is made. Beyond the budget others go, whichever they are: lists read all runs in turn, of
// which the least recently used one is the next.
func (r *runs) charge(key string, made *run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byFirst[key] != made {
		return
	}
	made.charged = made.text.Size() + len(made.entries)*entryCost
	r.size += made.charged
	budget := r.budget
	if budget == 0 {
		budget = runsBudget
	}
	for other, kept := range r.byFirst {
		if r.size <= budget {
			break
		}
		r.dropLocked(other, kept)
	}
}
