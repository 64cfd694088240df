package dynamicstorage

import (
	"context"
	"errors"
	"math"
	"sync"
)

// maxBatch is about the number of events that Next returns at once.
const maxBatch = 256

// keptBatch is the largest batch whose memory is used again.
const keptBatch = 16

// Watcher reads the events of a resource after a revision, at its own pace: it is never waited for. It has no goroutine.
type Watcher struct {
	resource *Resource
	group    *group
	era      uint64
	closed   chan struct{}
	close    sync.Once

	// mu guards the fields below. It is taken before the resource's.
	mu sync.Mutex
	// revision: all events up to it have been returned.
	revision int64
	// reloads of the ring that there had been when the watcher came to its revision; future if it is still to come.
	reloads int

	// batch is used by Next only, again and again.
	batch []Event
}

// Watch returns a watcher of the events after a revision, which may be in the future. It loads the resource. It must be closed.
func (r *Resource) Watch(ctx context.Context, after int64) (*Watcher, error) {
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
		w := &Watcher{resource: r, group: r.joinLocked(), era: r.era, closed: make(chan struct{}), revision: after, reloads: future}
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
	w.close.Do(func() {
		close(w.closed)
		w.resource.mu.Lock()
		w.resource.leaveLocked(w.group)
		w.resource.mu.Unlock()
	})
}

// Next returns the next events, in order, and waits until there are any. The slice is valid until the next call.
// ErrCompacted: events have been lost for the watcher; ErrClosed: the watcher, the resource or the store was closed. After the end of ctx the
// watcher can be used further, nothing is lost. Only one goroutine may call it at a time.
func (w *Watcher) Next(ctx context.Context) ([]Event, error) {
	for {
		events, wake, err := w.poll()
		if errors.Is(err, errBehind) {
			events, err = w.catchUp(ctx)
			wake = nil
		}
		if err != nil {
			return nil, err
		}
		if len(events) > 0 {
			return events, nil
		}
		if wake == nil { // has caught up with the ring
			continue
		}
		select {
		case <-wake:
		case <-w.closed:
			return nil, ErrClosed
		case <-w.resource.store.background.Done():
			return nil, ErrClosed
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// errBehind: the ring does not go back to where the watcher is.
var errBehind = errors.New("ring has moved on")

// poll returns events of the ring, or what will be closed when there are new ones.
func (w *Watcher) poll() (events []Event, wake <-chan struct{}, err error) {
	select {
	case <-w.closed:
		return nil, nil, ErrClosed
	default:
	}
	fed := w.resource.store.feed.current()
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.resource
	r.mu.RLock()
	events, err = w.readLocked(fed)
	wake = w.group.wake
	r.mu.RUnlock()
	if err != nil || len(events) > 0 || wake != nil {
		return events, wake, err
	}
	// Nobody waits yet: the channel has to be made, and events may have come meanwhile.
	r.mu.Lock()
	defer r.mu.Unlock()
	if events, err = w.readLocked(fed); err != nil || len(events) > 0 {
		return events, nil, err
	}
	if w.group.wake == nil {
		w.group.wake = make(chan struct{})
	}
	return nil, w.group.wake, nil
}

// readLocked returns events of the ring. The watcher's and the resource's mu are held, the latter for reading at least.
func (w *Watcher) readLocked(fed int64) ([]Event, error) {
	r := w.resource
	if w.era != r.era {
		return nil, r.ended
	}
	if !r.ring.reaches(w.revision, w.reloads) {
		return nil, errBehind
	}
	if clear(w.batch); cap(w.batch) > keptBatch { // entries must not be held on to, nor much memory while nothing happens
		w.batch = nil
	}
	w.batch = r.ring.read(w.batch[:0], w.revision, r.shownLocked(w.group), maxBatch)
	if n := len(w.batch); n > 0 {
		w.revision = w.batch[n-1].Revision
	}
	w.advanceLocked(fed)
	return w.batch, nil
}

// advanceLocked moves the watcher's revision on to the resource's when it has returned all events of the ring.
func (w *Watcher) advanceLocked(fed int64) {
	r := w.resource
	if w.era != r.era || r.cache == nil || !r.ring.reaches(w.revision, w.reloads) {
		return
	}
	revision := r.revisionLocked(fed)
	if len(r.ring.since(w.revision)) == 0 {
		w.revision = max(w.revision, revision)
	}
	if w.revision >= r.ring.floor && w.revision <= revision {
		w.reloads = r.ring.reloads
	}
}

// Revision returns a revision up to which all events have been returned by Next. It moves on with the feed, even when the resource
// has no events.
func (w *Watcher) Revision() int64 {
	fed := w.resource.store.feed.current()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.resource.mu.RLock()
	defer w.resource.mu.RUnlock()
	w.advanceLocked(fed)
	return w.revision
}
