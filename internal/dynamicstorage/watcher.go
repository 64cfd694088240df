package dynamicstorage

import (
	"context"
	"errors"
	"slices"
)

// maxBatch is about the number of events that Next returns at once.
const maxBatch = 256

// Watcher reads the events of a resource after a revision, at its own pace: the feed never waits for it. It has no
// goroutine, and costs nothing while there are no events in its scope.
type Watcher struct {
	resource *Resource
	// wake has an element when Next should look again.
	wake chan struct{}

	// The resource's mu guards the fields below.
	scope      *scope
	generation uint64 // of the resource; the watcher ends with it
	closed     bool
	state      watcherState
	// pending is the revision of the event that the watcher was queued for.
	pending int64
	// revision: Next has returned all events of the scope up to it.
	revision int64
}

// watcherState says what a watcher waits for.
type watcherState uint8

const (
	active watcherState = iota // its caller works on the events that Next has returned
	idle                       // there are no new events in its scope
	queued                     // there are events; it waits for a delivery slot
	ready                      // it has a slot
)

// Watch returns a watcher of all events after a revision, which may be in the future. It loads the resource. The
// caller must close the watcher.
func (r *Resource) Watch(ctx context.Context, after int64) (*Watcher, error) {
	return r.WatchKeys(ctx, "", after)
}

// WatchKeys is Watch for the events of one key or, if keys ends with a slash, of all keys below it.
func (r *Resource) WatchKeys(ctx context.Context, keys string, after int64) (*Watcher, error) {
	for {
		if err := r.warm(ctx); err != nil {
			return nil, err
		}
		r.mu.Lock()
		if r.cache == nil { // released again
			r.mu.Unlock()
			continue
		}
		w := &Watcher{resource: r, generation: r.generation, wake: make(chan struct{}, 1), revision: after}
		r.joinLocked(w, keys)
		r.mu.Unlock()
		return w, nil
	}
}

// Close ends the watcher, and a call of Next that waits. It may be called at any time, and again.
func (w *Watcher) Close() {
	r := w.resource
	r.mu.Lock()
	defer r.mu.Unlock()
	if !w.closed {
		w.closed = true
		r.leaveLocked(w)
		w.signal()
	}
}

// Next returns the next events, in order, and waits until there are some. The errors are ErrCompacted when events
// have been lost for the watcher, and ErrClosed when the watcher, the resource or the store was closed. After an
// error of ctx the watcher can be used further; no event is lost. Only one goroutine may call Next at a time.
func (w *Watcher) Next(ctx context.Context) ([]Event, error) {
	for {
		events, wait, err := w.poll()
		if errors.Is(err, errBehind) {
			events, err = w.catchUp(ctx)
			events = slices.DeleteFunc(events, func(e Event) bool { return !covers(w.scope.keys, e.key()) })
		}
		switch {
		case err != nil:
			return nil, err
		case len(events) > 0:
			return events, nil
		case !wait: // the watcher has caught up with the ring
			continue
		}
		select {
		case <-w.wake:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-w.resource.store.background.Done():
			return nil, ErrClosed
		}
	}
}

// errBehind: the ring does not reach back to the watcher's revision.
var errBehind = errors.New("watcher is behind the ring")

// poll returns events of the ring, or reports that the caller has to wait for them.
func (w *Watcher) poll() (events []Event, wait bool, err error) {
	r := w.resource
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := w.endedLocked(); err != nil {
		return nil, false, err
	}
	if w.state == idle || w.state == queued {
		return nil, true, nil
	}
	w.advanceLocked()
	switch {
	case w.revision >= w.scope.last:
		w.state = idle
		w.scope.idle[w] = struct{}{}
		return nil, true, nil
	case w.revision < r.ring.floor:
		return nil, false, errBehind
	case w.state != ready && !r.takeSlotLocked(w):
		return nil, true, nil
	}
	var reached int64
	events, reached = r.ring.read(w.revision, w.scope.keys, maxBatch)
	w.state, w.revision = active, max(w.revision, reached)
	w.advanceLocked()
	return events, false, nil
}

// endedLocked returns the reason why the watcher has ended, if it has.
func (w *Watcher) endedLocked() error {
	switch r := w.resource; {
	case w.closed, r.store.background.Err() != nil:
		return ErrClosed
	case w.generation != r.generation:
		return r.ended
	}
	return nil
}

// advanceLocked moves the revision of a watcher that has no new events to that of the resource.
func (w *Watcher) advanceLocked() {
	if w.revision >= w.scope.last {
		w.revision = max(w.revision, w.resource.revisionLocked())
	}
}

// Revision returns a revision up to which Next has returned all events of the scope. It advances with the feed, even
// when there are no events.
func (w *Watcher) Revision() int64 {
	r := w.resource
	r.mu.Lock()
	defer r.mu.Unlock()
	if w.endedLocked() == nil {
		w.advanceLocked()
	}
	return w.revision
}

// wakeUp gives the watcher a delivery slot.
func (w *Watcher) wakeUp() {
	w.state = ready
	w.signal()
}

// signal makes Next look again.
func (w *Watcher) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}
