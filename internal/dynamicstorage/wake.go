package dynamicstorage

import (
	"runtime"
	"slices"
	"time"
)

// To be woken costs a watcher the same for one event as for several: goroutines that switch, a record of TLS, a system
// call. And when many are runnable at once, the next request waits behind them. So watchers are in groups, and groups take turns: when
// its turn has come, a group gets all events since the last. One group is all there is of a few watchers; they do not wait.
const (
	// turnLength is the time between two turns, wakeCost about what it takes of a processor to deliver a batch.
	turnLength = time.Millisecond
	wakeCost   = 50 * time.Microsecond
	// maxTurns bounds how many turns an event waits, however many watchers there are.
	maxTurns = 50
)

// groupSize is the number of watchers that can be served in a turn.
func groupSize() int { return int(turnLength/wakeCost) * runtime.GOMAXPROCS(0) }

// group is watchers that are woken together. The resource's mu guards it.
type group struct {
	watchers int
	// wake is closed and replaced when they have something new to look at; nil while nobody waits. It obeys contexts, as sync.Cond would not.
	wake chan struct{}
	// queued: there are events that the group has not been woken for; shown is the last revision that it has.
	queued bool
	shown  int64
}

func (g *group) show(revision int64) {
	g.queued, g.shown = false, revision
	if g.wake != nil {
		close(g.wake)
		g.wake = nil
	}
}

// rota says whose turn it is. The resource's mu guards it.
type rota struct {
	// size is how many watchers a group has at most; set when the first joins.
	size   int
	groups []*group
	// queue are the groups that wait for their turn.
	queue []*group
	// turned is when the last turn was; timer runs until the next while groups are queued. What it starts ends at once.
	turned time.Time
	timer  *time.Timer
}

// joinLocked finds a group for a new watcher.
func (r *Resource) joinLocked() *group {
	a := &r.rota
	if a.size == 0 {
		a.size = groupSize()
	}
	i := slices.IndexFunc(a.groups, func(g *group) bool { return g.watchers < a.size })
	if i < 0 {
		i = len(a.groups)
		a.groups = append(a.groups, &group{shown: r.ring.last()})
	}
	a.groups[i].watchers++
	r.watchers++
	return a.groups[i]
}

// leaveLocked takes a watcher out of its group.
func (r *Resource) leaveLocked(g *group) {
	r.watchers--
	if g.watchers--; g.watchers == 0 {
		isGone := func(other *group) bool { return other == g }
		r.rota.groups = slices.DeleteFunc(r.rota.groups, isGone)
		r.rota.queue = slices.DeleteFunc(r.rota.queue, isGone)
	}
}

// wakeWatchers tells those who wait that there are events, now or when it is their turn. The feed calls it when it has moved on.
func (r *Resource) wakeWatchers() {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := &r.rota
	if len(a.groups) <= 1 || r.crowdedLocked() {
		r.wakeLocked()
		return
	}
	waiting := len(a.queue) > 0
	for _, g := range a.groups {
		if !g.queued {
			g.queued = true
			a.queue = append(a.queue, g)
		}
	}
	if waiting {
		return
	}
	if wait := turnLength - time.Since(a.turned); wait > 0 {
		r.turnAfterLocked(wait)
		return
	}
	r.turnLocked()
}

// crowdedLocked says whether the ring is about to lose events that groups have not been shown.
func (r *Resource) crowdedLocked() bool {
	return r.ring == nil || slices.ContainsFunc(r.rota.queue, func(g *group) bool { return g.shown <= r.ring.floor })
}

// turn is what the timer calls.
func (r *Resource) turn() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.rota.queue) > 0 { // else all have been woken meanwhile
		r.turnLocked()
	}
}

// turnLocked wakes the groups whose turn it is.
func (r *Resource) turnLocked() {
	a := &r.rota
	n := min(1+len(a.groups)/maxTurns, len(a.queue))
	for _, g := range a.queue[:n] {
		g.show(r.ring.last())
	}
	a.queue = slices.Delete(a.queue, 0, n)
	a.turned = time.Now()
	if len(a.queue) > 0 {
		r.turnAfterLocked(turnLength)
	}
}

func (r *Resource) turnAfterLocked(wait time.Duration) {
	if r.rota.timer == nil {
		r.rota.timer = time.AfterFunc(wait, r.turn)
		return
	}
	r.rota.timer.Reset(wait)
}

// wakeLocked wakes all watchers at once.
func (r *Resource) wakeLocked() {
	a := &r.rota
	var last int64
	if r.ring != nil {
		last = r.ring.last()
	}
	for _, g := range a.groups {
		g.show(last)
	}
	clear(a.queue)
	a.queue = a.queue[:0]
	a.turned = time.Now()
	if a.timer != nil {
		a.timer.Stop()
	}
}

// shownLocked returns the revision up to which watchers of a group may read. Without it those that are still busy
// would take the events that wait for the next turn one by one.
func (r *Resource) shownLocked(g *group) int64 {
	if !g.queued {
		return forever
	}
	return g.shown
}
