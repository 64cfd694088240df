package dynamicstorage

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
)

// View is an entry as one version serves it. It is immutable and shared.
type View struct {
	// JSON is complete but for the resourceVersion, which the writer puts in at At:
	// JSON[:At] + `"resourceVersion":"<revision>",` + JSON[At:]. It may share memory with the entry's Value.
	JSON []byte
	At   int
	// Labels and Fields are what selectors are matched against.
	Labels, Fields Pairs
	// Err says that the entry cannot be served in this version. Unlike an error of the function that makes views, it is
	// kept: the entry will never be different.
	Err error
}

// Viewer makes views, and keeps them beside the entries while it is in use. There is one for every
// served version and schema.
type Viewer struct {
	make   func(ctx context.Context, entries []*Entry) ([]*View, error)
	closed atomic.Bool

	// mu guards making: the entries of which someone is making views, with what is closed when it is done.
	// Without it a conversion webhook would be asked for the same object by everybody who reads it.
	mu     sync.Mutex
	making map[*Entry]chan struct{}
}

// closedViewers counts the viewers closed so far; when it has moved, stores sweep their entries for views nobody will ask for.
var closedViewers atomic.Int64

// keptView is one view in an entry's list. It is immutable but for the notes; lists are replaced as a whole.
type keptView struct {
	viewer *Viewer
	view   View
	next   *keptView
	notes  notes
}

// NewViewer returns a viewer. make is called with entries that have no view yet, as many as a caller has at once,
// and returns their views in the same order; its error fails the read and is not kept. It must not modify
// the entries.
func NewViewer(make func(ctx context.Context, entries []*Entry) ([]*View, error)) *Viewer {
	return &Viewer{make: make, making: map[*Entry]chan struct{}{}}
}

// View returns the view of an entry.
func (v *Viewer) View(ctx context.Context, e *Entry) (*View, error) {
	if view := v.kept(e); view != nil {
		return view, nil
	}
	views, err := v.Views(ctx, []*Entry{e})
	if err != nil {
		return nil, err
	}
	return views[0], nil
}

// Views returns the views of entries, in their order. No view is made twice, however many ask for it.
func (v *Viewer) Views(ctx context.Context, entries []*Entry) ([]*View, error) {
	views := make([]*View, len(entries))
	for {
		missing := 0
		for i, e := range entries {
			if views[i] == nil {
				if views[i] = v.kept(e); views[i] == nil {
					missing++
				}
			}
		}
		if missing == 0 {
			return views, nil
		}
		mine, others := v.claim(entries, views, missing)
		if len(mine) > 0 {
			if err := v.makeClaimed(ctx, mine, entries, views); err != nil {
				return nil, err
			}
		}
		for _, done := range others {
			select {
			case <-done: // if they failed, the next round makes the view itself
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
	}
}

// claim returns the entries without a view that nobody else is working on, now claimed, and what to wait for of the others.
func (v *Viewer) claim(entries []*Entry, views []*View, missing int) (mine []*Entry, others []chan struct{}) {
	v.mu.Lock()
	defer v.mu.Unlock()
	var done chan struct{}
	for i, e := range entries {
		if views[i] != nil {
			continue
		}
		if views[i] = v.kept(e); views[i] != nil { // made in the meantime
			continue
		}
		if other, ok := v.making[e]; ok {
			if other != done { // the same entry may be asked for twice
				others = append(others, other)
			}
			continue
		}
		if done == nil {
			done, mine = make(chan struct{}), make([]*Entry, 0, missing)
		}
		v.making[e] = done
		mine = append(mine, e)
	}
	return mine, others
}

// makeClaimed makes the views of claimed entries and gives the claim back. mine is a subsequence of entries.
func (v *Viewer) makeClaimed(ctx context.Context, mine, entries []*Entry, views []*View) error {
	defer v.unclaim(mine)
	made, err := v.make(ctx, mine)
	if err != nil {
		return err
	}
	if len(made) != len(mine) {
		return fmt.Errorf("viewer made %d views of %d entries", len(made), len(mine))
	}
	madeViews.Add(int64(len(made)))
	next := 0
	for i, e := range entries {
		if next < len(mine) && views[i] == nil && e == mine[next] {
			views[i] = v.Attach(e, made[next])
			next++
		}
	}
	return nil
}

func (v *Viewer) unclaim(mine []*Entry) {
	v.mu.Lock()
	defer v.mu.Unlock()
	close(v.making[mine[0]])
	for _, e := range mine {
		delete(v.making, e)
	}
}

// Attach keeps a view that has been made, and returns the one that is kept: a copy of it, or the view that was attached
// first. That of a closed viewer is not kept, and returned as it is.
func (v *Viewer) Attach(e *Entry, view *View) *View {
	for !v.closed.Load() {
		old := e.views.Load()
		if first := find(old, v); first != nil {
			return &first.view
		}
		k := &keptView{viewer: v, view: *view, next: pruned(old)}
		if k.view.Labels == e.Header.Labels {
			k.view.Labels = e.Header.Labels // the same bytes
		}
		if e.views.CompareAndSwap(old, k) {
			return &k.view
		}
	}
	return view
}

// Close says that the viewer's views need not be kept any more. It goes on working for those who still hold it.
func (v *Viewer) Close() {
	if !v.closed.Swap(true) {
		closedViewers.Add(1)
	}
}

func (v *Viewer) kept(e *Entry) *View {
	if k := find(e.views.Load(), v); k != nil {
		return &k.view
	}
	return nil
}

func find(k *keptView, v *Viewer) *keptView {
	for ; k != nil; k = k.next {
		if k.viewer == v {
			return k
		}
	}
	return nil
}

// pruned returns a list without the views of closed viewers; the same list if there are none.
func pruned(k *keptView) *keptView {
	if k == nil {
		return nil
	}
	next := pruned(k.next)
	switch {
	case k.viewer.closed.Load():
		return next
	case next != k.next:
		return &keptView{viewer: k.viewer, view: k.view, next: next}
	}
	return k
}

// dropViews drops the views of closed viewers from an entry.
func (e *Entry) dropViews() {
	old := e.views.Load()
	if kept := pruned(old); kept != old {
		e.views.CompareAndSwap(old, kept) // losing to someone who attaches is fine: attaching prunes too
	}
}
