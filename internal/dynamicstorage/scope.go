package dynamicstorage

import "strings"

// scope is a set of keys that watchers watch: all of the resource, one namespace, or one object. An event wakes only
// the watchers of the scopes that its key belongs to. The resource's mu guards it.
type scope struct {
	// keys is "" for all objects, "namespace/" for a namespace, and the key of a single object otherwise.
	keys string
	// watchers is their number. idle are those that have returned all events of the scope and wait for the next.
	watchers int
	idle     map[*Watcher]struct{}
	// last is the revision of the last event of the scope. Events before the first watcher joined count as one.
	last int64
}

// covers reports whether a key belongs to the scope of keys.
func covers(keys, key string) bool {
	return keys == "" || key == keys || keys[len(keys)-1] == '/' && strings.HasPrefix(key, keys)
}

// joinLocked adds a watcher to the scope of keys.
func (r *Resource) joinLocked(w *Watcher, keys string) {
	s := r.scopes[keys]
	if s == nil {
		s = &scope{keys: keys, idle: map[*Watcher]struct{}{}, last: r.ring.last}
		if r.scopes == nil {
			r.scopes = map[string]*scope{}
		}
		r.scopes[keys] = s
	}
	w.scope = s
	s.watchers++
	r.watchers++
	r.deliveries.scale(r.watchers)
}

// leaveLocked removes a watcher from its scope. The delivery queue skips watchers that are closed.
func (r *Resource) leaveLocked(w *Watcher) {
	s := w.scope
	delete(s.idle, w)
	if s.watchers--; s.watchers == 0 && r.scopes[s.keys] == s {
		delete(r.scopes, s.keys)
	}
	r.watchers--
	r.deliveries.scale(r.watchers)
}

// notifyLocked queues the idle watchers of the scopes that an event belongs to.
func (r *Resource) notifyLocked(event *Event) {
	if len(r.scopes) == 0 {
		return
	}
	key := event.key()
	r.notifyScopeLocked(r.scopes[""], event.Revision)
	if slash := strings.IndexByte(key, '/'); slash >= 0 {
		r.notifyScopeLocked(r.scopes[key[:slash+1]], event.Revision)
	}
	r.notifyScopeLocked(r.scopes[key], event.Revision)
}

func (r *Resource) notifyScopeLocked(s *scope, revision int64) {
	if s != nil {
		s.last = max(s.last, revision)
		r.queueIdleLocked(s, revision-1)
	}
}

// queueIdleLocked queues the idle watchers of a scope. They have returned all of its events up to the revision seen.
func (r *Resource) queueIdleLocked(s *scope, seen int64) {
	for w := range s.idle {
		w.revision = max(w.revision, seen)
		r.deliveries.add(w, s.last)
	}
	clear(s.idle)
}

// endWatchersLocked ends the generation: all watchers return err from now on.
func (r *Resource) endWatchersLocked(err error) {
	r.generation++
	r.ended = err
	for _, s := range r.scopes {
		r.queueIdleLocked(s, 0)
	}
	r.deliveries.flush()
	r.scopes = nil
}
