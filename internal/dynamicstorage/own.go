package dynamicstorage

import (
	"bytes"
	"slices"
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// write is a Put whose event has not come back through the feed. It may come before the answer to the transaction.
// The event is known by its key and bytes, so that both have the same entry, made once, with the views that were attached to it.
type write struct {
	key    string
	stored []byte // in etcd
	value  []byte
	header Header
	err    error // of the header
	attach func(*Entry)

	// revision is that of the transaction, and entry what it has stored, once they are known. Guarded by the resource's mu.
	revision int64
	entry    *Entry

	// mu guards made.
	mu   sync.Mutex
	made *Entry
}

// at returns the entry the write has made at a revision. When somebody else happened to write the same bytes, and the
// transaction failed or came to be at another revision, the entries differ.
func (w *write) at(revision, created int64) *Entry {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.made == nil || w.made.Revision != revision {
		w.made = &Entry{Key: w.key, Revision: revision, Value: w.value, Header: w.header, Err: w.err, created: created}
		if w.attach != nil {
			w.attach(w.made)
		}
	}
	return w.made
}

// expect has the event of a write recognised. A cold resource gets no events.
func (r *Resource) expect(w *write) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cache == nil && r.load == nil {
		return
	}
	if r.writes == nil {
		r.writes = map[string][]*write{}
	}
	r.writes[w.key] = append(r.writes[w.key], w)
}

// forget says that a write has failed, as far as is known.
func (r *Resource) forget(w *write) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forgetLocked(w)
}

func (r *Resource) forgetLocked(w *write) {
	writes := r.writes[w.key]
	i := slices.Index(writes, w)
	switch {
	case i < 0:
	case len(writes) == 1:
		delete(r.writes, w.key)
	default:
		r.writes[w.key] = slices.Delete(writes, i, i+1)
	}
}

// settle says what a write has stored. If its event has not been seen, it is still expected.
func (r *Resource) settle(w *write, e *Entry) {
	revision := e.Revision
	fed := r.store.feed.current()
	r.mu.Lock()
	defer r.mu.Unlock()
	w.revision, w.entry = revision, e
	if r.cache == nil && r.load == nil || r.load == nil && r.revisionLocked(fed) >= revision {
		r.forgetLocked(w)
	}
}

// newest returns what the last own write of a key has stored, if its event has not come yet, else the cached entry e.
func (r *Resource) newest(key string, e *Entry) *Entry {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, w := range r.writes[key] {
		if w.entry != nil && (e == nil || w.revision > e.Revision) {
			e = w.entry
		}
	}
	return e
}

// forgetOldLocked forgets all writes whose events are in the cache.
func (r *Resource) forgetOldLocked() {
	for key := range r.writes {
		r.forgetKeyLocked(key, r.cache.changed)
	}
}

// forgetKeyLocked forgets the writes of a key up to a revision. Mostly there are none left: their event was
// recognised; but it may have been taken for that of another write of the same bytes, that failed.
func (r *Resource) forgetKeyLocked(key string, revision int64) {
	for _, w := range slices.Clone(r.writes[key]) {
		if w.revision != 0 && w.revision <= revision {
			r.forgetLocked(w)
		}
	}
}

// recogniseLocked returns for every event the own write that it tells of, or nil.
func (r *Resource) recogniseLocked(events []*clientv3.Event) []*write {
	own := make([]*write, len(events))
	if len(r.writes) == 0 {
		return own
	}
	for i, event := range events {
		if event.Type != clientv3.EventTypePut || !r.owns(event.Kv) {
			continue
		}
		writes := r.writes[string(event.Kv.Key[len(r.prefix):])]
		if own[i] = recognise(writes, event); own[i] != nil {
			r.forgetLocked(own[i])
		}
	}
	return own
}

// recognise returns the write that an event tells of: the one that is known to have been done at its revision, else one
// of which nothing is known yet.
func recognise(writes []*write, event *clientv3.Event) (found *write) {
	for _, w := range writes {
		switch {
		case w.revision == event.Kv.ModRevision:
			return w
		case w.revision == 0 && found == nil && bytes.Equal(w.stored, event.Kv.Value):
			found = w
		}
	}
	return found
}
