package dynamicstorage

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// View is an entry in the form that one version serves. It is immutable and shared.
type View struct {
	// Bytes are complete but for the resourceVersion, which the writer inserts at offset At (wire.Object). They may
	// share memory with the entry's Value.
	Bytes []byte
	At    int
	// Labels and Fields are matched against selectors.
	Labels, Fields Pairs
	// Err is set if the entry cannot be served in this version. Unlike an error of the function that makes views it
	// is permanent, and cached.
	Err error
}

// Viewer makes views and caches them in the entries until it is closed. There is one for every served version,
// format and schema.
type Viewer struct {
	make   func(ctx context.Context, entries []*Entry) ([]*View, error)
	closed atomic.Bool

	// mu guards making, and noOps of the views.
	mu sync.Mutex
	// making has the entries whose views are being made, with channels that are closed afterwards. It makes
	// concurrent readers of an object share one call of a conversion webhook.
	making map[*Entry]chan struct{}
}

// closedViewers counts the closed viewers. When it changes, the janitors drop the views of closed viewers.
var closedViewers atomic.Int64

// cachedView is one view in an entry's list. It is immutable but for noOps. Lists are replaced as a whole.
type cachedView struct {
	viewer *Viewer
	view   View
	// attached says that a write has attached the view, which the viewer has not made.
	attached bool
	next     *cachedView
	// noOps are digests of requests, the last one first. The viewer's mu guards them.
	noOps []NoOpDigest
}

// NewViewer returns a viewer. It calls make with entries that have no view yet, as many as a caller of Views passes.
// make returns their views in the same order, and must not modify the entries. An error of make fails the read, and
// is not cached.
func NewViewer(make func(ctx context.Context, entries []*Entry) ([]*View, error)) *Viewer {
	return &Viewer{make: make, making: map[*Entry]chan struct{}{}}
}

// View returns the view of an entry.
func (v *Viewer) View(ctx context.Context, e *Entry) (*View, error) {
	if view := v.cached(e); view != nil {
		return view, nil
	}
	views, err := v.Views(ctx, []*Entry{e})
	if err != nil {
		return nil, err
	}
	return views[0], nil
}

// Views returns the views of entries, in the same order. Concurrent callers share the views that are being made.
func (v *Viewer) Views(ctx context.Context, entries []*Entry) ([]*View, error) {
	views := make([]*View, len(entries))
	for {
		missing := 0
		for i, e := range entries {
			if views[i] == nil {
				if views[i] = v.cached(e); views[i] == nil {
					missing++
				}
			}
		}
		if missing == 0 {
			return views, nil
		}
		claimed, others := v.claim(entries, views, missing)
		if len(claimed) > 0 {
			if err := v.makeClaimed(ctx, claimed, entries, views); err != nil {
				return nil, err
			}
		}
		for _, done := range others {
			select {
			case <-done: // after an error of make the next round makes the views
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
	}
}

// claim claims the entries without a view that no other caller has claimed. It returns them, and the channels to wait
// on for the others.
func (v *Viewer) claim(entries []*Entry, views []*View, missing int) (claimed []*Entry, others []chan struct{}) {
	v.mu.Lock()
	defer v.mu.Unlock()
	var done chan struct{}
	for i, e := range entries {
		if views[i] != nil {
			continue
		}
		if views[i] = v.cached(e); views[i] != nil { // made meanwhile
			continue
		}
		if other, ok := v.making[e]; ok {
			if other != done { // entries may contain an entry twice
				others = append(others, other)
			}
			continue
		}
		if done == nil {
			done, claimed = make(chan struct{}), make([]*Entry, 0, missing)
		}
		v.making[e] = done
		claimed = append(claimed, e)
	}
	return claimed, others
}

// makeClaimed makes the views of claimed entries and ends the claim. claimed is a subsequence of entries.
func (v *Viewer) makeClaimed(ctx context.Context, claimed, entries []*Entry, views []*View) error {
	defer v.unclaim(claimed)
	made, err := v.make(ctx, claimed)
	if err != nil {
		return err
	}
	if len(made) != len(claimed) {
		return fmt.Errorf("viewer made %d views of %d entries", len(made), len(claimed))
	}
	madeViews.Add(int64(len(made)))
	next := 0
	for i, e := range entries {
		if next < len(claimed) && views[i] == nil && e == claimed[next] {
			views[i] = v.cache(e, made[next], false)
			next++
		}
	}
	return nil
}

func (v *Viewer) unclaim(claimed []*Entry) {
	v.mu.Lock()
	defer v.mu.Unlock()
	close(v.making[claimed[0]])
	for _, e := range claimed {
		delete(v.making, e)
	}
}

// Attach caches a view that the caller knows without reading the entry, because it has written the entry. The view
// must be the one that the viewer would make; see Options.CheckViews.
func (v *Viewer) Attach(e *Entry, view *View) { v.cache(e, view, true) }

// cache caches a view. It returns the cached one: a copy of view, or the view that was cached first. A closed viewer
// caches nothing and returns view.
func (v *Viewer) cache(e *Entry, view *View, attached bool) *View {
	for !v.closed.Load() {
		old := e.views.Load()
		if first := find(old, v); first != nil {
			return &first.view
		}
		c := &cachedView{viewer: v, view: *view, attached: attached, next: pruned(old)}
		if c.view.Labels == e.Header.Labels {
			c.view.Labels = e.Header.Labels // share the memory
		}
		if e.views.CompareAndSwap(old, c) {
			return &c.view
		}
	}
	return view
}

// Close makes the viewer stop caching. Its views are dropped from the entries. Readers that still hold it can go on
// using it.
func (v *Viewer) Close() {
	if !v.closed.Swap(true) {
		closedViewers.Add(1)
	}
}

// cached returns the view of an entry; nil if it has not been made.
func (v *Viewer) cached(e *Entry) *View {
	if c := find(e.views.Load(), v); c != nil {
		return &c.view
	}
	return nil
}

func find(c *cachedView, v *Viewer) *cachedView {
	for ; c != nil; c = c.next {
		if c.viewer == v {
			return c
		}
	}
	return nil
}

// pruned returns a list without the views of closed viewers. It is the same list if there are none.
func pruned(c *cachedView) *cachedView {
	if c == nil {
		return nil
	}
	next := pruned(c.next)
	switch {
	case c.viewer.closed.Load():
		return next
	case next != c.next:
		return &cachedView{viewer: c.viewer, view: c.view, attached: c.attached, next: next}
	}
	return c
}

// dropViews drops the views of closed viewers from an entry.
func (e *Entry) dropViews() {
	old := e.views.Load()
	if rest := pruned(old); rest != old {
		e.views.CompareAndSwap(old, rest) // if it fails, Attach was faster and has pruned the list
	}
}

// NoOpDigest is a digest of a request that is known to change nothing in an entry, as one viewer serves it.
type NoOpDigest [32]byte

// maxNoOps bounds the digests of a view, to about the number of clients that write one object.
const maxNoOps = 4

// IsNoOp reports whether a request is known to change nothing in an entry.
func (v *Viewer) IsNoOp(e *Entry, digest NoOpDigest) bool {
	c := find(e.views.Load(), v)
	if c == nil {
		return false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Contains(c.noOps, digest)
}

// AddNoOp records that a request changes nothing in an entry. The oldest record makes room for it. Records may be
// lost at any time; they are when the entry changes or the viewer is closed. Entries of several revisions may share a
// view and its records.
func (v *Viewer) AddNoOp(e *Entry, digest NoOpDigest) {
	c := find(e.views.Load(), v)
	if c == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	c.noOps = append([]NoOpDigest{digest}, c.noOps[:min(len(c.noOps), maxNoOps-1)]...)
}
