package dynamicstorage

import (
	"context"
	"errors"
	"math"
	"slices"
)

// maxBatch is about the number of events that Next returns at once.
const maxBatch = 256

// keptBatch is the largest batch whose memory is used again.
const keptBatch = 16

// Watcher reads the events of a resource after a revision, at its own pace: it is never waited for. It has no goroutine, and costs
// nothing while there are no events of its keys.
type Watcher struct {
	resource *Resource
	// wake has an element when there may be something new to look at.
	wake chan struct{}

	// The resource's mu guards the fields below.
	place  *place
	era    uint64
	closed bool
	stage  stage
	// seat is where it is among the idle of its place; since, while it is due, the newest event when it was queued.
	seat  int
	since int64
	// revision: all events up to it have been returned.
	revision int64
	// reloads of the ring that there had been when the watcher came to its revision; future if it is still to come.
	reloads int

	// batch is used by Next only, again and again.
	batch []Event
}

// stage is what a watcher is about.
type stage uint8

const (
	busy   stage = iota // somebody works on what was returned
	idle                // there are no events
	due                 // there are events; it is in the queue
	called              // it is its turn
)

// call has the watcher look at what there is.
func (w *Watcher) call() {
	w.stage = called
	w.poke()
}

func (w *Watcher) poke() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Watch returns a watcher of all events after a revision, which may be in the future. It loads the resource. It must be closed.
func (r *Resource) Watch(ctx context.Context, after int64) (*Watcher, error) {
	return r.WatchKeys(ctx, "", after)
}

// WatchKeys returns a watcher of the events of one key or, if keys ends with a slash, of those below it, after a revision.
func (r *Resource) WatchKeys(ctx context.Context, keys string, after int64) (*Watcher, error) {
	for {
		if err := r.warm(ctx); err != nil {
			return nil, err
		}
		fed := r.store.feed.current()
		r.mu.Lock()
		if r.cache == nil { // released at once
			r.mu.Unlock()
			continue
		}
		w := &Watcher{resource: r, era: r.era, wake: make(chan struct{}, 1), revision: after, reloads: future}
		r.joinLocked(w, keys)
		if after <= r.revisionLocked(fed) {
			w.reloads = r.ring.reloads
		}
		r.mu.Unlock()
		return w, nil
	}
}

// future stands for the reloads before a revision that the resource has not come to: what a reload leaves out may come before it.
const future = math.MaxInt

// Close ends the watcher, and a call of Next that waits. It may be called at any time, and again.
func (w *Watcher) Close() {
	r := w.resource
	r.mu.Lock()
	defer r.mu.Unlock()
	if !w.closed {
		w.closed = true
		r.leaveLocked(w)
		w.poke()
	}
}

// Next returns the next events, in order, and waits until there are any. The slice is valid until the next call.
// ErrCompacted: events have been lost for the watcher; ErrClosed: the watcher, the resource or the store was closed. After the end of ctx the
// watcher can be used further, nothing is lost. Only one goroutine may call it at a time.
func (w *Watcher) Next(ctx context.Context) ([]Event, error) {
	for {
		events, wait, err := w.poll()
		if errors.Is(err, errBehind) {
			events, err = w.catchUp(ctx)
			events = slices.DeleteFunc(events, func(e Event) bool { return !covers(w.place.keys, e.key()) })
		}
		if err != nil {
			return nil, err
		}
		if len(events) > 0 {
			return events, nil
		}
		if !wait { // has caught up with the ring
			continue
		}
		select {
		case <-w.wake:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// errBehind: the ring does not go back to where the watcher is.
var errBehind = errors.New("ring has moved on")

// poll returns events of the ring, or says that it is to be waited for them.
func (w *Watcher) poll() (events []Event, wait bool, err error) {
	r := w.resource
	fed := r.store.feed.current()
	r.mu.Lock()
	defer r.mu.Unlock()
	w.dropBatch()
	if err := w.overLocked(); err != nil {
		return nil, false, err
	}
	r.noteLocked()
	if w.stage == idle || w.stage == due {
		return nil, true, nil
	}
	w.advanceLocked(fed)
	switch {
	case w.revision >= w.place.last:
		w.place.addIdle(w)
		return nil, true, nil
	case !r.ring.reaches(w.revision, w.reloads):
		return nil, false, errBehind
	case !r.admitLocked(w):
		return nil, true, nil
	}
	w.readLocked(fed)
	return w.batch, false, nil
}

// overLocked returns why the watcher has ended, if it has.
func (w *Watcher) overLocked() error {
	switch r := w.resource; {
	case w.closed, r.store.background.Err() != nil:
		return ErrClosed
	case w.era != r.era:
		return r.ended
	}
	return nil
}

// dropBatch lets go of entries, and of memory that is not needed while nothing happens.
func (w *Watcher) dropBatch() {
	clear(w.batch)
	if w.batch = w.batch[:0]; cap(w.batch) > keptBatch {
		w.batch = nil
	}
}

// readLocked reads events of the ring.
func (w *Watcher) readLocked(fed int64) {
	r := w.resource
	var come int64
	if w.batch, come = r.ring.read(w.batch, w.revision, w.place.keys, maxBatch); come >= r.ring.last() {
		come = r.rota.noted // where there are no events is not in the ring
	}
	w.stage, w.revision = busy, max(w.revision, come)
	w.advanceLocked(fed)
}

// advanceLocked moves the watcher's revision on over what does not concern it. The resource's events have been noted.
func (w *Watcher) advanceLocked(fed int64) {
	r, p := w.resource, w.place
	revision := r.revisionLocked(fed)
	switch {
	case w.revision >= p.last:
		w.revision = max(w.revision, revision)
	case w.revision >= p.before:
		w.revision = max(w.revision, p.last-1)
	}
	if w.revision >= r.ring.floor && w.revision <= revision {
		w.reloads = r.ring.reloads
	}
}

// Revision returns a revision up to which all events of its keys have been returned by Next. It moves on with the feed, even when
// there are none.
func (w *Watcher) Revision() int64 {
	r := w.resource
	fed := r.store.feed.current()
	r.mu.Lock()
	defer r.mu.Unlock()
	if w.overLocked() == nil {
		r.noteLocked()
		w.advanceLocked(fed)
	}
	return w.revision
}
