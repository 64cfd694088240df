package dynamicstorage

import (
	"context"
	"runtime"
	"time"
)

// To be woken costs a watcher the same for one event as for several: goroutines that switch, a record of TLS, a system call. So
// what watchers are woken for has a pace: each delivery takes its share of the time. As long as there is time, events are delivered
// at once. When there is none, watchers queue, and get all events that have come until it is their turn: the more watchers and events,
// the larger the batches, and other requests are not kept waiting behind hundreds of goroutines.
const (
	// deliveryCost is the time of one processor that a delivery may take: several times what it needs, as there is more to do.
	deliveryCost = 70 * time.Microsecond
	// savedTime is how much time can be saved up while it is quiet, for deliveries that are made at once then.
	savedTime = 8 * time.Millisecond
	// turnLength is the least time between two turns in which watchers of the queue are woken.
	turnLength = 2 * time.Millisecond
	// longestWait bounds how long a watcher queues, however many there are.
	longestWait = 200 * time.Millisecond
)

// rota says which watchers are woken when. The resource's mu guards it.
type rota struct {
	// places are where there are watchers, by their keys. noted is the revision up to which they know of events.
	places map[string]*place
	noted  int64

	// queue are watchers that wait for their turn, the first come first.
	queue []*Watcher
	pace  pace
	// paid is when the time of the last delivery is over.
	paid time.Time
	// timer runs, if ticking, until the next turn. What it starts ends at once.
	timer   *time.Timer
	ticking bool
	// unhook undoes that watchers are woken when the store ends.
	unhook func() bool
}

// pace is how fast watchers are woken.
type pace struct {
	// cost is the time between two deliveries, saved how much of it can be saved up.
	cost, saved time.Duration
}

// open prepares for watchers: there had been none.
func (a *rota) open(r *Resource) {
	if a.pace == (pace{}) {
		a.pace = pace{cost: deliveryCost / time.Duration(runtime.GOMAXPROCS(0)), saved: savedTime}
	}
	a.unhook = context.AfterFunc(r.store.background, r.wakeAll)
}

// stop is called when there are no watchers left.
func (a *rota) stop() {
	a.unhook()
	a.queue = nil
}

// enqueue has a watcher wait for its turn because of an event.
func (a *rota) enqueue(w *Watcher, event int64) {
	w.stage, w.since = due, event
	a.queue = append(a.queue, w)
}

// wakeWatchers wakes watchers for events that have come, now or when it is their turn. The feed calls it when it has moved on.
func (r *Resource) wakeWatchers() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ring != nil {
		r.noteLocked()
		r.turnLocked()
	}
}

// turn is what the timer calls.
func (r *Resource) turn() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rota.ticking = false
	if r.ring != nil {
		r.turnLocked()
	}
}

// turnLocked wakes watchers of the queue for which there is time, and those that the ring would soon lose events of.
func (r *Resource) turnLocked() {
	a := &r.rota
	if len(a.queue) == 0 {
		return
	}
	now, risk := time.Now(), r.ring.risk()
	n := 0
	for ; n < len(a.queue); n++ {
		w := a.queue[n]
		if w.closed {
			continue
		}
		if w.since >= risk && !a.pay(now, r.watchers) {
			break
		}
		w.call()
	}
	a.queue = append(a.queue[:0], a.queue[n:]...)
	clear(a.queue[len(a.queue) : len(a.queue)+n])
	a.tick(r, now)
}

// tick has the next turn come when there is time for it.
func (a *rota) tick(r *Resource, now time.Time) {
	if len(a.queue) == 0 || a.ticking {
		return
	}
	a.ticking = true
	wait := max(turnLength, a.paid.Sub(now))
	if a.timer == nil {
		a.timer = time.AfterFunc(wait, r.turn)
		return
	}
	a.timer.Reset(wait)
}

// pay takes the time for a delivery to one of so many watchers; false: there is none.
func (a *rota) pay(now time.Time, watchers int) bool {
	if a.paid.After(now) {
		return false
	}
	cost := min(a.pace.cost, longestWait/time.Duration(max(watchers, 1)))
	if oldest := now.Add(-a.pace.saved); a.paid.Before(oldest) {
		a.paid = oldest
	}
	a.paid = a.paid.Add(cost)
	return true
}

// admitLocked says whether a watcher may read now: it is its turn, or there is time. Otherwise it is in the queue afterwards.
func (r *Resource) admitLocked(w *Watcher) bool {
	a := &r.rota
	if w.stage == called || w.revision < r.ring.risk() {
		return true
	}
	now := time.Now()
	if len(a.queue) == 0 && a.pay(now, r.watchers) {
		return true
	}
	a.enqueue(w, r.ring.last())
	a.tick(r, now)
	return false
}

// wakeLocked wakes all watchers at once.
func (r *Resource) wakeLocked() {
	a := &r.rota
	if r.ring != nil {
		r.noteLocked()
	}
	for _, p := range a.places {
		for _, w := range p.idle {
			w.call()
		}
		p.idle = nil
	}
	for _, w := range a.queue {
		w.call()
	}
	a.queue = nil
}

// wakeAll wakes all watchers because the store has ended.
func (r *Resource) wakeAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wakeLocked()
}

// endLocked wakes all watchers for the last time: they find that their era is over.
func (r *Resource) endLocked() {
	r.wakeLocked()
	r.rota.places, r.rota.noted = nil, 0
}
