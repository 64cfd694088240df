package dynamicstorage

import "strings"

// place is the watchers that want events of the same keys: of one; of those below a namespace, which ends with a slash; or, "", of all.
// An event wakes those of its places, and costs nothing for the others, however many they are. The resource's mu guards it.
type place struct {
	keys string
	// watchers is their number; idle are those that have been given all events, and wait.
	watchers int
	idle     []*Watcher
	// last is the revision of the last event of the place, before that of the one before it. What was before the first
	// watcher came, and what is not known, counts as an event.
	last, before int64
}

// covers says whether a key is in a place.
func covers(keys, key string) bool {
	return keys == "" || key == keys || keys[len(keys)-1] == '/' && strings.HasPrefix(key, keys)
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

// joinLocked adds a watcher to the place of its keys.
func (r *Resource) joinLocked(w *Watcher, keys string) {
	r.noteLocked()
	a := &r.rota
	p := a.places[keys]
	if p == nil {
		p = &place{keys: keys, last: a.noted, before: a.noted}
		if a.places == nil {
			a.places = map[string]*place{}
		}
		a.places[keys] = p
	}
	w.place = p
	p.watchers++
	if r.watchers++; r.watchers == 1 {
		a.open(r)
	}
}

// leaveLocked takes a watcher out of its place. If it is in the queue it stays there until its turn.
func (r *Resource) leaveLocked(w *Watcher) {
	a, p := &r.rota, w.place
	if w.stage == idle {
		p.removeIdle(w)
	}
	if p.watchers--; p.watchers == 0 && a.places[p.keys] == p {
		delete(a.places, p.keys)
	}
	if r.watchers--; r.watchers == 0 {
		a.stop()
	}
}

func (p *place) addIdle(w *Watcher) {
	w.stage, w.seat = idle, len(p.idle)
	p.idle = append(p.idle, w)
}

func (p *place) removeIdle(w *Watcher) {
	end := len(p.idle) - 1
	p.idle[w.seat] = p.idle[end]
	p.idle[w.seat].seat = w.seat
	p.idle[end] = nil
	p.idle = p.idle[:end]
}

// noteLocked tells places of the events that have come. Those who are idle there have seen everything else up to them.
func (r *Resource) noteLocked() {
	a := &r.rota
	if r.ring.floor > a.noted { // more came than is held, or it was loaded anew: it is not known where
		for _, p := range a.places {
			a.note(p, r.ring.floor, a.noted)
			p.before = p.last
		}
	}
	if len(a.places) > 0 {
		for _, event := range r.ring.since(a.noted) {
			key := event.key()
			a.noteAt("", event.Revision)
			if slash := strings.IndexByte(key, '/'); slash >= 0 {
				a.noteAt(key[:slash+1], event.Revision)
			}
			a.noteAt(key, event.Revision)
		}
	}
	a.noted = max(a.noted, r.ring.last(), r.ring.floor)
}

func (a *rota) noteAt(keys string, revision int64) {
	if p := a.places[keys]; p != nil {
		a.note(p, revision, revision-1)
	}
}

// note: there is an event for a place. Who is idle there had seen everything up to a revision, and is queued now.
func (a *rota) note(p *place, event, seen int64) {
	if event > p.last {
		p.before, p.last = p.last, event
	}
	for _, w := range p.idle {
		w.revision = max(w.revision, seen)
		a.enqueue(w, event)
	}
	clear(p.idle)
	p.idle = p.idle[:0]
}
