package dynamicstorage

import "sync/atomic"

// Note is a digest of something that is known to be true of an entry as a viewer shows it: what that is, and what is digested
// for it, is its writers' matter.
type Note [32]byte

// mostNotes bounds what is noted of a view: about as many writers as an object has.
const mostNotes = 4

// notes are those of a view, the last one first. They are replaced as a whole.
type notes struct{ kept atomic.Pointer[[]Note] }

// Noted says whether a note of an entry is kept.
func (v *Viewer) Noted(e *Entry, note Note) bool {
	k := find(e.views.Load(), v)
	if k == nil {
		return false
	}
	kept := k.notes.kept.Load()
	if kept == nil {
		return false
	}
	for i := range *kept {
		if (*kept)[i] == note {
			return true
		}
	}
	return false
}

// Note keeps a note beside the view of an entry, and forgets the oldest one for it when there are many. It may be lost at any
// time, and is when the entry changes or the viewer is closed. Entries of several revisions may share a view, and its notes.
func (v *Viewer) Note(e *Entry, note Note) {
	k := find(e.views.Load(), v)
	if k == nil {
		return
	}
	for {
		old := k.notes.kept.Load()
		kept := []Note{note}
		if old != nil {
			kept = append(kept, (*old)[:min(len(*old), mostNotes-1)]...)
		}
		if k.notes.kept.CompareAndSwap(old, &kept) {
			return
		}
	}
}
