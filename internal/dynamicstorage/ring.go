package dynamicstorage

import "sort"

// Event is one change of an object.
type Event struct {
	// Revision is the revision of the change, for a deletion too.
	Revision int64
	// Entry is the object after the change; nil if it was deleted.
	Entry *Entry
	// Prev is the object before the change; nil if it was created.
	Prev *Entry
}

// key returns the key of the object that changed.
func (e *Event) key() string {
	switch {
	case e.Entry != nil:
		return e.Entry.Key
	case e.Prev != nil:
		return e.Prev.Key
	}
	return ""
}

// cost estimates the memory that only the event holds on to: itself and the replaced object.
func (e *Event) cost() int64 {
	if e.Prev == nil {
		return 24
	}
	return 24 + e.Prev.size()
}

// ring holds the most recent events of a resource, bounded in number and bytes. Their revisions never decrease. A
// reader remembers the revision up to which it has read, and reads either all events of a revision or none. The
// resource's mu guards it.
type ring struct {
	maxEvents int
	maxBytes  int64

	events []Event // oldest first
	head   int     // events[:head] are evicted
	bytes  int64
	// The ring has all events after floor and up to last.
	floor, last int64
}

func newRing(maxEvents int, maxBytes int64, floor int64) *ring {
	return &ring{maxEvents: maxEvents, maxBytes: maxBytes, floor: floor, last: floor}
}

func (r *ring) len() int { return len(r.events) - r.head }

// push adds an event and evicts the oldest if there are too many. A single event stays, however large it is.
func (r *ring) push(e Event) {
	r.events = append(r.events, e)
	r.last = e.Revision
	r.bytes += e.cost()
	for r.len() > r.maxEvents || r.bytes > r.maxBytes && r.len() > 1 {
		r.evict()
	}
}

func (r *ring) evict() {
	oldest := &r.events[r.head]
	r.bytes -= oldest.cost()
	r.floor = max(r.floor, oldest.Revision)
	*oldest = Event{}
	r.head++
	if r.head > len(r.events)/2 && r.head >= 64 { // amortized: fewer events move than were evicted
		n := copy(r.events, r.events[r.head:])
		clear(r.events[n:])
		r.events, r.head = r.events[:n], 0
	}
}

// since returns the events after a revision. They are valid until the ring changes.
func (r *ring) since(revision int64) []Event {
	live := r.events[r.head:]
	if n := len(live); n == 0 || live[n-1].Revision <= revision {
		return nil
	}
	return live[sort.Search(len(live), func(i int) bool { return live[i].Revision > revision }):]
}

// atRisk returns a revision below which events may soon be evicted: once the ring is half full, that of its middle
// event. It is 0 while there is room.
func (r *ring) atRisk() int64 {
	n := r.len()
	if n < 2 || 2*n <= r.maxEvents && 2*r.bytes <= r.maxBytes {
		return 0
	}
	return r.events[r.head+n/2].Revision
}

// read returns about limit events of a scope after a revision, and the revision that it has reached.
func (r *ring) read(after int64, keys string, limit int) (batch []Event, reached int64) {
	pending := r.since(after)
	for i := range pending {
		if len(batch) >= limit && pending[i].Revision > pending[i-1].Revision {
			return batch, pending[i-1].Revision
		}
		if covers(keys, pending[i].key()) {
			batch = append(batch, pending[i])
		}
	}
	return batch, r.last
}

// prepend adds the older events between the revision floor and the ring's own floor, so that readers may begin
// earlier. It reports false when there is no room for them.
func (r *ring) prepend(older []Event, floor int64) bool {
	live := r.since(r.floor) // the older events include those at the floor
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
	r.floor = floor
	return true
}
