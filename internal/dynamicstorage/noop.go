package dynamicstorage

import "sync/atomic"

// NoOpDigest is a digest of a request that is known to change nothing in an entry, as one viewer serves it.
type NoOpDigest [32]byte

// maxNoOps bounds the digests of a view, to about the number of clients that write one object.
const maxNoOps = 4

// noOps are the digests of a view, the last one first. The slice is replaced as a whole.
type noOps struct{ digests atomic.Pointer[[]NoOpDigest] }

// IsNoOp reports whether a request is known to change nothing in an entry.
func (v *Viewer) IsNoOp(e *Entry, digest NoOpDigest) bool {
	c := find(e.views.Load(), v)
	if c == nil {
		return false
	}
	digests := c.noOps.digests.Load()
	if digests == nil {
		return false
	}
	for i := range *digests {
		if (*digests)[i] == digest {
			return true
		}
	}
	return false
}

// AddNoOp records that a request changes nothing in an entry. The oldest record makes room for it. Records may be lost at any
// time; they are when the entry changes or the viewer is closed. Entries of several revisions may share a view and its records.
func (v *Viewer) AddNoOp(e *Entry, digest NoOpDigest) {
	c := find(e.views.Load(), v)
	if c == nil {
		return
	}
	for {
		old := c.noOps.digests.Load()
		digests := []NoOpDigest{digest}
		if old != nil {
			digests = append(digests, (*old)[:min(len(*old), maxNoOps-1)]...)
		}
		if c.noOps.digests.CompareAndSwap(old, &digests) {
			return
		}
	}
}
