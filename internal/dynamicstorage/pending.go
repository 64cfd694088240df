package dynamicstorage

import (
	"bytes"
	"slices"
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// pendingWrite is a Put of this process whose event has not arrived from the feed. The event may arrive before the
// response to the transaction. It is recognized by its key and bytes, so that the writer and the cache share one
// entry, which is decoded once and has the views that were attached to it.
type pendingWrite struct {
	key    string
	stored []byte // in etcd
	value  []byte
	header Header
	err    error // of the header
	attach func(*Entry)

	// revision and entry are set when the transaction has succeeded. The resource's mu guards them.
	revision int64
	entry    *Entry

	// mu guards made.
	mu   sync.Mutex
	made *Entry
}

// entryAt returns the entry that the write has stored at a revision. There may be two: another writer may have stored
// the same bytes while this write failed, or got another revision.
func (w *pendingWrite) entryAt(revision, created int64) *Entry {
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

// addPending registers a write before its transaction. A cold resource gets no events, so there is nothing to
// register.
func (r *Resource) addPending(w *pendingWrite) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cache == nil && r.load == nil {
		return
	}
	if r.pending == nil {
		r.pending = map[string][]*pendingWrite{}
	}
	r.pending[w.key] = append(r.pending[w.key], w)
}

// dropPending removes a write whose transaction has failed.
func (r *Resource) dropPending(w *pendingWrite) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dropPendingLocked(w)
}

func (r *Resource) dropPendingLocked(w *pendingWrite) {
	writes := r.pending[w.key]
	i := slices.Index(writes, w)
	switch {
	case i < 0:
	case len(writes) == 1:
		delete(r.pending, w.key)
	default:
		r.pending[w.key] = slices.Delete(writes, i, i+1)
	}
}

// committed records what a write has stored. The write stays pending unless the feed has already passed its revision.
func (r *Resource) committed(w *pendingWrite, e *Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w.revision, w.entry = e.Revision, e
	if r.load == nil && (r.cache == nil || r.revisionLocked() >= e.Revision) {
		r.dropPendingLocked(w)
	}
}

// newest returns the entry of the last pending write of a key if that is newer than e, which is the cached entry.
func (r *Resource) newest(key string, e *Entry) *Entry {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, w := range r.pending[key] {
		if w.entry != nil && (e == nil || w.revision > e.Revision) {
			e = w.entry
		}
	}
	return e
}

// dropAppliedLocked removes the writes of a key up to a revision. Mostly there are none left. But the event of one
// may have been attributed to another write of the same bytes that has failed.
func (r *Resource) dropAppliedLocked(key string, revision int64) {
	for _, w := range slices.Clone(r.pending[key]) {
		if w.revision != 0 && w.revision <= revision {
			r.dropPendingLocked(w)
		}
	}
}

// matchPendingLocked returns for every event the pending write that has caused it, or nil.
func (r *Resource) matchPendingLocked(events []*clientv3.Event) []*pendingWrite {
	matches := make([]*pendingWrite, len(events))
	if len(r.pending) == 0 {
		return matches
	}
	for i, event := range events {
		if event.Type != clientv3.EventTypePut || !r.owns(event.Kv) {
			continue
		}
		if matches[i] = matchPending(r.pending[r.keyOf(event.Kv)], event); matches[i] != nil {
			r.dropPendingLocked(matches[i])
		}
	}
	return matches
}

// matchPending returns the write with the revision of an event, or else a write of the same bytes whose revision is
// not known yet.
func matchPending(writes []*pendingWrite, event *clientv3.Event) (match *pendingWrite) {
	for _, w := range writes {
		switch {
		case w.revision == event.Kv.ModRevision:
			return w
		case w.revision == 0 && match == nil && bytes.Equal(w.stored, event.Kv.Value):
			match = w
		}
	}
	return match
}
