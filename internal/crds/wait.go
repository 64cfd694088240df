package crds

import (
	"context"
	"fmt"
	"sync"
)

// waiting holds the callers of WaitFor.
type waiting struct {
	// mu guards all below. It is never held while a change is applied.
	mu sync.Mutex
	// seen is the newest revision up to which all changes have been applied.
	seen int64
	// applying is the name of the CRD whose change is being applied: Get returns it, but OnChange functions may not
	// have been called.
	applying string
	waiters  map[*waiter]struct{}
}

type waiter struct {
	name     string
	revision int64
	done     chan struct{} // closed when the table holds it
}

// WaitFor blocks until the table has applied the CRD at that revision or a newer one, or its deletion, and has called
// all functions registered with OnChange. revision is the result of a write or a deletion of the CRD.
func (t *Table) WaitFor(ctx context.Context, name string, revision int64) error {
	w := &waiter{name: name, revision: revision, done: make(chan struct{})}
	applied := func() bool {
		record, ok := t.Get(name)
		return ok && record.Revision >= revision
	}
	if t.waiting.add(w, applied) {
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

// add returns true if there is nothing to wait for.
func (w *waiting) add(one *waiter, applied func() bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen >= one.revision || w.applying != one.name && applied() {
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

// begin marks the change of a CRD as being applied.
func (w *waiting) begin(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.applying = name
}

// end wakes the waiters for this revision of the CRD and, because changes arrive in order, for all revisions up to
// progress.
func (w *waiting) end(name string, revision, progress int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.applying = ""
	w.seen = max(w.seen, progress)
	w.wakeLocked(name, revision)
}

// restart is called when a list at that revision has been applied completely. The revision may be older than seen if
// etcd was restored from a backup.
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
