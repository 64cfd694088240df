package dynamicstorage

import (
	"slices"
	"sort"
)

// Event is one change of an object. What is nil was, or is, not there.
type Event struct {
	// Revision is that of the change, for a deletion too.
	Revision int64
	// Entry is the object since; nil: it was deleted.
	Entry *Entry
	// Prev is the object before; nil: it was created.
	Prev *Entry
}

// cost is about the memory that only the event holds on to: the replaced object.
func (e *Event) cost() int64 {
	if e.Prev == nil {
		return 24
	}
	return 24 + e.Prev.size()
}

// ring holds the most recent events of a resource, bounded in number and bytes. Their revisions never decrease; a reader
// remembers the revision up to which it has read, and reads all events of a revision or none. It has no lock of its own.
type ring struct {
	maxEvents int
	maxBytes  int64

	events []Event // the oldest first
	head   int     // events before it are gone
	bytes  int64
	// floor: all events of later revisions are here.
	floor int64
	// reloads counts how often events were lost and replaced by net changes, all of them at or below floor then. Who
	// has read before a reload, from oldFloor on, may go on with them: the net changes are right for whoever has seen
	// exactly what was before.
	reloads  int
	oldFloor int64
}

func newRing(maxEvents int, maxBytes int64, floor int64) *ring {
	return &ring{maxEvents: maxEvents, maxBytes: maxBytes, floor: floor, oldFloor: floor}
}

func (r *ring) len() int { return len(r.events) - r.head }

// reaches says whether a reader can go on after a revision; reloads are those that there had been when it came to it.
func (r *ring) reaches(revision int64, reloads int) bool {
	return revision >= r.floor || reloads < r.reloads && revision >= r.oldFloor
}

// push adds an event. The oldest make room for it; a single event stays, however large.
func (r *ring) push(e Event) {
	r.events = append(r.events, e)
	r.bytes += e.cost()
	for r.len() > r.maxEvents || r.bytes > r.maxBytes && r.len() > 1 {
		r.evict()
	}
}

func (r *ring) evict() {
	oldest := &r.events[r.head]
	r.bytes -= oldest.cost()
	r.floor = max(r.floor, oldest.Revision)
	r.oldFloor = max(r.oldFloor, oldest.Revision)
	*oldest = Event{}
	r.head++
	if r.head > len(r.events)/2 && r.head >= 64 { // amortized: at least as many were evicted as are moved
		n := copy(r.events, r.events[r.head:])
		clear(r.events[n:])
		r.events, r.head = r.events[:n], 0
	}
}

// since returns the events after a revision. They are valid while the ring does not change.
func (r *ring) since(revision int64) []Event {
	live := r.events[r.head:]
	if n := len(live); n == 0 || live[n-1].Revision <= revision { // mostly
		return nil
	}
	return live[sort.Search(len(live), func(i int) bool { return live[i].Revision > revision }):]
}

// last returns the revision of the newest event, or that after which events would be here.
func (r *ring) last() int64 {
	if r.len() == 0 {
		return r.floor
	}
	return r.events[len(r.events)-1].Revision
}

// risk returns a revision whose successors a reader had better read now: half of what the ring has room for came since. 0: there is
// room.
func (r *ring) risk() int64 {
	n := r.len()
	if n < 2 || 2*n <= r.maxEvents && 2*r.bytes <= r.maxBytes {
		return 0
	}
	return r.events[r.head+n/2].Revision
}

// read appends the events of keys after a revision to batch: about limit of them, and all of a revision or none. It returns the
// revision that it has come to.
func (r *ring) read(batch []Event, after int64, keys string, limit int) ([]Event, int64) {
	pending := r.since(after)
	if keys == "" {
		batch = slices.Grow(batch, min(len(pending), limit))
	}
	for i, begun := 0, len(batch); i < len(pending); i++ {
		if len(batch)-begun >= limit && pending[i].Revision > pending[i-1].Revision {
			return batch, pending[i-1].Revision
		}
		if covers(keys, pending[i].key()) {
			batch = append(batch, pending[i])
		}
	}
	return batch, r.last()
}

// reload adds net changes, in place of events that were lost before revision loaded.
func (r *ring) reload(net []Event, loaded int64) {
	r.oldFloor = r.floor
	r.reloads++
	for _, event := range net {
		r.push(event)
	}
	r.floor = max(r.floor, loaded)
}

// prepend puts older events, all those after revision floor and up to the ring's own floor, before the others, so that readers
// may begin earlier. It refuses when there is no room.
func (r *ring) prepend(older []Event, floor int64) bool {
	live := r.since(r.floor) // what net changes there are, the older events replace
	events := make([]Event, 0, len(older)+len(live))
	events = append(append(events, older...), live...)
	var bytes int64
	for i := range events {
		bytes += events[i].cost()
	}
	if len(events) > r.maxEvents || bytes > r.maxBytes {
		return false
	}
	r.events, r.head, r.bytes = events, 0, bytes
	r.floor, r.oldFloor = floor, floor
	return true
}
