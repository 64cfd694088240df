package dynamicstorage

import (
	"runtime"
	"time"

	"golang.org/x/time/rate"
)

// Waking a watcher costs about the same for one event as for many: a switch of goroutines, a TLS record, a system call. The
// number of deliveries is therefore limited by a token bucket for each resource. While there are tokens, events are
// delivered at once. Under load watchers queue, and each gets all events of its scope that have arrived until its turn:
// the more watchers and events, the larger the batches, and other requests keep their share of the CPU.
const (
	// deliveriesPerCPU is the number of deliveries per second and CPU. They may take several times what they need.
	deliveriesPerCPU = 14_000
	// burstTime is the time for which unused deliveries are saved up.
	burstTime = 8 * time.Millisecond
	// deliveryInterval is the time between two looks at the queue.
	deliveryInterval = 2 * time.Millisecond
	// maxDeliveryDelay bounds the time that a watcher queues: with many watchers the limit rises.
	maxDeliveryDelay = 200 * time.Millisecond
)

// deliveryQueue holds the watchers that wait for a delivery slot. The resource's mu guards it.
type deliveryQueue struct {
	// waiting are the queued watchers, first in, first out.
	waiting []*Watcher
	// limit is the limit for few watchers. Tests set it before the first watcher joins.
	limit   rate.Limit
	limiter *rate.Limiter
	// timer runs while watchers wait, if scheduled. The function that it calls does not block.
	timer     *time.Timer
	scheduled bool
}

// scale adapts the limit to a number of watchers, so that each of them gets a slot within maxDeliveryDelay.
func (q *deliveryQueue) scale(watchers int) {
	if q.limit == 0 {
		q.limit = rate.Limit(deliveriesPerCPU * runtime.GOMAXPROCS(0))
	}
	limit := max(q.limit, rate.Limit(float64(watchers)/maxDeliveryDelay.Seconds()))
	burst := max(1, int(float64(limit)*burstTime.Seconds()))
	switch {
	case q.limiter == nil:
		q.limiter = rate.NewLimiter(limit, burst)
	case limit != q.limiter.Limit():
		q.limiter.SetLimit(limit)
		q.limiter.SetBurst(burst)
	}
}

// add queues a watcher for an event at a revision.
func (q *deliveryQueue) add(w *Watcher, revision int64) {
	w.state, w.pending = queued, revision
	q.waiting = append(q.waiting, w)
}

// flush gives a slot to all watchers.
func (q *deliveryQueue) flush() {
	for _, w := range q.waiting {
		w.wakeUp()
	}
	q.waiting = nil
}

// deliver wakes queued watchers. The feed calls it when it has moved on.
func (r *Resource) deliver() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deliverLocked()
}

// deliverLocked wakes as many queued watchers as the limit allows, and those whose events would soon fall out of the ring.
func (r *Resource) deliverLocked() {
	q := &r.deliveries
	if len(q.waiting) == 0 {
		return
	}
	now, atRisk := time.Now(), r.ring.atRisk()
	n := 0
	for ; n < len(q.waiting); n++ {
		w := q.waiting[n]
		if w.closed {
			continue
		}
		if w.pending >= atRisk && !q.limiter.AllowN(now, 1) {
			break
		}
		w.wakeUp()
	}
	q.waiting = append(q.waiting[:0], q.waiting[n:]...)
	clear(q.waiting[len(q.waiting) : len(q.waiting)+n])
	r.scheduleLocked()
}

// scheduleLocked starts the timer if watchers wait.
func (r *Resource) scheduleLocked() {
	q := &r.deliveries
	if len(q.waiting) == 0 || q.scheduled {
		return
	}
	q.scheduled = true
	if q.timer == nil {
		q.timer = time.AfterFunc(deliveryInterval, r.deliverScheduled)
		return
	}
	q.timer.Reset(deliveryInterval)
}

func (r *Resource) deliverScheduled() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deliveries.scheduled = false
	r.deliverLocked()
}

// takeSlotLocked reports whether an active watcher may read now. Otherwise it is queued.
func (r *Resource) takeSlotLocked(w *Watcher) bool {
	q := &r.deliveries
	if w.revision < r.ring.atRisk() || len(q.waiting) == 0 && q.limiter.AllowN(time.Now(), 1) {
		return true
	}
	q.add(w, r.ring.last)
	r.scheduleLocked()
	return false
}
