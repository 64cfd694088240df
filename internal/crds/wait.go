package crds

import (
	"context"
	"fmt"
	"sync"
)

// waiting is everybody who waits for the table to show a revision.
type waiting struct {
	// mu guards all below. It is never held while a change is applied.
	mu sync.Mutex
	// seen is the newest revision up to which everything has been applied.
	seen int64
	// applying is the CRD that is being changed: the table shows it, but not everybody has been told.
	applying string
	waiters  map[*waiter]struct{}
}

type waiter struct {
	name     string
	revision int64
	done     chan struct{} // closed when the table shows it
}

// WaitFor blocks until the table shows the CRD at that revision or a newer one, or its deletion, and everybody who
// registered with OnChange has been told. The revision is the one a write of the CRD, or its deletion, returned.
func (t *Table) WaitFor(ctx context.Context, name string, revision int64) error {
	w := &waiter{name: name, revision: revision, done: make(chan struct{})}
	shown := func() bool {
		record, ok := t.Get(name)
		return ok && record.Revision >= revision
	}
	if t.waiting.add(w, shown) {
		return nil
	}
	defer t.waiting.remove(w)
	select {
	case <-w.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for CustomResourceDefinition %s at revision %d: %w", name, revision, context.Cause(ctx))
	}
}

// add returns true when there is nothing to wait for.
func (w *waiting) add(one *waiter, shown func() bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen >= one.revision || w.applying != one.name && shown() {
		return true
	}
	if w.waiters == nil {
		w.waiters = map[*waiter]struct{}{}
	}
	w.waiters[one] = struct{}{}
	return false
}

func (w *waiting) remove(one *waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.waiters, one)
}

// begin marks a CRD as being changed.
func (w *waiting) begin(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.applying = name
}

// end wakes those who waited for this revision of the CRD, or, as changes come in order, for anything up to progress.
func (w *waiting) end(name string, revision, progress int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.applying = ""
	w.seen = max(w.seen, progress)
	w.wakeLocked(name, revision)
}

// restart says that a list of that revision has been applied completely. It may be older than what was seen before
// if etcd was restored from a backup.
func (w *waiting) restart(revision int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = revision
	w.wakeLocked("", 0)
}

func (w *waiting) wakeLocked(name string, revision int64) {
	for one := range w.waiters {
		if one.revision <= w.seen || one.name == name && one.revision <= revision {
			close(one.done)
			delete(w.waiters, one)
		}
	}
}
