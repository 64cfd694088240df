package controllers

import (
	"sync"
	"time"
)

// settleWithin is how long the one who wrote a CRD has, at least, for settling it, as it does before it answers, be it this replica or
// another one. Then the queue does, in case the writer has died: at the same time they would only be in each other's way.
const settleWithin = 200 * time.Millisecond

// postponed is a list of CRDs that were seen unsettled. Almost all are settled when they are looked at again, which costs no queue
// anything: they are looked at together.
type postponed struct {
	// take is called with the names whose time has come.
	take func(names []string)

	mu sync.Mutex // guards all below
	// fresh are names since the last turn, waiting those from before it.
	fresh, waiting []string
	// ticking: there is a timer for the next turn. What it starts ends at once.
	ticking bool
}

// add has a name looked at again, after settleWithin and before twice as long.
func (w *postponed) add(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fresh = append(w.fresh, name)
	w.tickLocked()
}

func (w *postponed) turn() {
	w.mu.Lock()
	due := w.waiting
	w.waiting, w.fresh, w.ticking = w.fresh, nil, false
	if len(w.waiting) > 0 {
		w.tickLocked()
	}
	w.mu.Unlock()
	w.take(due)
}

func (w *postponed) tickLocked() {
	if !w.ticking {
		w.ticking = true
		time.AfterFunc(settleWithin, w.turn)
	}
}
