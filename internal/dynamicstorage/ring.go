package dynamicstorage

import "sort"

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

// ring holds the most recent events of a resource, bounded in number and bytes. Events are numbered; a reader
// remembers the number it reads next. It has no lock of its own.
type ring struct {
	maxEvents int
	maxBytes  int64

	events []Event // the oldest first; revisions never decrease
	head   int     // events before it are gone
	first  uint64  // number of events[head]
	bytes  int64
	// floor is the lowest revision a reader may have when it begins: later events are all here.
	floor int64
}

func newRing(maxEvents int, maxBytes int64, floor int64) *ring {
	return &ring{maxEvents: maxEvents, maxBytes: maxBytes, floor: floor}
}

func (r *ring) len() int { return len(r.events) - r.head }

// next returns the number that the next event will have.
func (r *ring) next() uint64 { return r.first + uint64(r.len()) }

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
	*oldest = Event{}
	r.head++
	r.first++
	if r.head > len(r.events)/2 && r.head >= 64 { // amortized: at least as many were evicted as are moved
		n := copy(r.events, r.events[r.head:])
		clear(r.events[n:])
		r.events, r.head = r.events[:n], 0
	}
}

// after returns the number of the first event of a revision newer than the given one.
func (r *ring) after(revision int64) uint64 {
	live := r.events[r.head:]
	i := sort.Search(len(live), func(i int) bool { return live[i].Revision > revision })
	return r.first + uint64(i)
}

// since returns the events from a number on. They are valid while the ring does not change.
func (r *ring) since(number uint64) []Event {
	return r.events[r.head+int(number-r.first):]
}

// read appends events from a number on to batch: about limit of them, and all of a revision or none.
func (r *ring) read(batch []Event, number uint64, limit int) []Event {
	pending := r.since(number)
	if len(pending) > limit {
		end := limit
		for end < len(pending) && pending[end].Revision == pending[end-1].Revision {
			end++
		}
		pending = pending[:end]
	}
	return append(batch, pending...)
}

// prepend puts older events, all those after revision floor and up to the ring's own floor, before the others, so that readers may begin earlier. It
// refuses when there is no room.
func (r *ring) prepend(older []Event, floor int64) bool {
	var bytes int64
	for i := range older {
		bytes += older[i].cost()
	}
	if r.len()+len(older) > r.maxEvents || r.bytes+bytes > r.maxBytes || uint64(len(older)) > r.first {
		return false
	}
	events := make([]Event, 0, len(older)+r.len())
	r.events = append(append(events, older...), r.events[r.head:]...)
	r.head = 0
	r.first -= uint64(len(older))
	r.bytes += bytes
	r.floor = floor
	return true
}
