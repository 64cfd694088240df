package dynamicstorage

import "time"

// A watcher that is woken costs the same for one event as for several: goroutines that switch, a record of TLS, a
// system call. So when there are many, they are woken together, and not again before each of them has had its share of
// time; events that come meanwhile wait, and go out in one batch. An event after a quiet time does not wait.
const (
	paceShare = 25 * time.Microsecond
	// maxPace is how long an event waits at most.
	maxPace = 5 * time.Millisecond
	// minPace: less is not worth a timer. Few watchers are always woken at once.
	minPace = time.Millisecond
)

// pace says when the watchers of a resource are woken. The resource's mu guards it.
type pace struct {
	// woken is when watchers were woken last, and shown the revision of the last event there was then.
	woken time.Time
	shown int64
	// timer runs while events are held back; it is nil at all other times. What it starts ends at once.
	timer *time.Timer
}

// paceOf returns how much time is between two wakes of a number of watchers.
func paceOf(watchers int) time.Duration {
	if between := min(time.Duration(watchers)*paceShare, maxPace); between >= minPace {
		return between
	}
	return 0
}

// wakeWatchers wakes those who wait for events, now or when it is time. The feed calls it when it has moved on.
func (r *Resource) wakeWatchers() {
	r.mu.Lock()
	defer r.mu.Unlock()
	wait := paceOf(r.watchers)
	if wait > 0 {
		wait -= time.Since(r.pace.woken)
	}
	switch {
	case wait <= 0, r.pace.timer != nil && r.ring != nil && r.ring.floor >= r.pace.shown: // or watchers would lose what waits
		r.wakeLocked()
	case r.pace.timer == nil:
		r.holdLocked(wait)
	}
}

// holdLocked has events wait.
func (r *Resource) holdLocked(wait time.Duration) {
	var timer *time.Timer
	timer = time.AfterFunc(wait, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.pace.timer == timer { // else watchers were woken for another reason
			r.wakeLocked()
		}
	})
	r.pace.timer = timer
}

// wakeLocked wakes those who wait for events, and lets them see all there are.
func (r *Resource) wakeLocked() {
	if r.pace.timer != nil {
		r.pace.timer.Stop()
		r.pace.timer = nil
	}
	r.pace.woken = time.Now()
	r.pace.shown = 0
	if r.ring != nil {
		r.pace.shown = r.ring.last()
	}
	if r.wake != nil {
		close(r.wake)
		r.wake = nil
	}
}

// shownLocked returns the revision up to which watchers may read events now. Without it those that are still busy with a batch
// would take the events that wait one by one.
func (r *Resource) shownLocked() int64 {
	if r.pace.timer == nil {
		return forever
	}
	return r.pace.shown
}
