package dynamicstorage

import (
	"context"
	"errors"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Op is what a Change does to a key.
type Op int

const (
	// Keep leaves the key as it is.
	Keep Op = iota
	// Put stores Change.Value.
	Put
	// Delete deletes the key.
	Delete
)

// Change is what an update does to an entry.
type Change struct {
	Op Op
	// Value is stored by Put. It belongs to the new entry from then on.
	Value []byte
	// If are conditions for a Put or Delete, besides those of the update.
	If []Condition
	// Expires is the time after which etcd deletes the entry that Put stores, or a little later. Every write sets it
	// again; with 0 the entry does not expire any more. It is counted in whole seconds, and rounded up.
	Expires time.Duration
	// Attach, if not nil, is called with the new entry before any reader sees it. It attaches views that are known
	// already. In rare cases it is called again with another new entry.
	Attach func(*Entry)
}

// UpdateOptions say how an update begins.
type UpdateOptions struct {
	// Fresh begins with the entry in etcd instead of the one in the cache.
	Fresh bool
	// Absent begins, without a read of etcd, with the assumption that there is no entry. It is for creations.
	Absent bool
	// If are conditions for every write of the update. When one of them does not hold, the error is ErrCondition.
	If []Condition
}

// Mutate computes a change of an entry. current is nil when there is none. Mutate must not modify it.
type Mutate = func(ctx context.Context, current *Entry) (Change, error)

// Update changes the entry of a key. It calls mutate again, with the new entry, each time another writer was faster.
// It is the loop that a GuardedUpdate is for; see there for the results.
func (r *Resource) Update(ctx context.Context, key string, mutate Mutate, options UpdateOptions) (*Entry, error) {
	u, err := r.BeginUpdate(key, options)
	if err != nil {
		return nil, err
	}
	defer u.End()
	for {
		current, err := u.Read(ctx)
		if err != nil {
			return nil, err
		}
		var entry *Entry
		if change, refused := mutate(ctx, current); refused == nil {
			entry, err = u.Commit(ctx, change)
		} else if err = u.Confirm(ctx); err == nil {
			err = refused
		}
		if !errors.Is(err, ErrConflict) {
			return entry, err
		}
	}
}

// GuardedUpdate is an update of one key. Its writes are transactions that are guarded by the revision of the entry
// that was read. The caller runs a loop: it reads the entry, computes a change, and calls Commit. If it refuses to
// change the entry, it calls Confirm instead, because the entry that it refused may be out of date. It starts again
// from Read while the error is ErrConflict. The loop ends with the context only.
//
// The first Read may return an entry of the cache that is out of date. Commit and Confirm notice this, so the final
// result is true of a state that etcd has had during the update.
//
// Updates of one key in this process that conflict with each other queue, see updateQueues. A GuardedUpdate is for
// one goroutine.
type GuardedUpdate struct {
	resource *Resource
	key      string
	options  UpdateOptions

	begun bool
	// current is the entry that the attempt starts from. confirmed says that etcd has held it during this update.
	current   *Entry
	confirmed bool
	leave     func() // leaves the queue; nil outside of it
}

// BeginUpdate returns an update of a key, which the caller must end. The error is ErrInvalidKey or nil.
func (r *Resource) BeginUpdate(key string, options UpdateOptions) (*GuardedUpdate, error) {
	if !validKey(key) {
		return nil, fmt.Errorf("%w: %q", ErrInvalidKey, key)
	}
	return &GuardedUpdate{resource: r, key: key, options: options}, nil
}

// End releases what the update holds.
func (u *GuardedUpdate) End() {
	if u.leave != nil {
		u.leave()
	}
}

// Read returns the entry that the next attempt starts from; nil if there is none. The caller must not modify it.
func (u *GuardedUpdate) Read(ctx context.Context) (*Entry, error) {
	r := u.resource
	switch {
	case !u.begun:
		if r.updates.contended(u.key) {
			if err := u.queue(ctx); err != nil {
				return nil, err
			}
		}
		var err error
		if u.current, u.confirmed, err = r.origin(ctx, u.key, u.options); err != nil {
			return nil, err
		}
		u.begun = true
	case u.leave == nil: // the first attempt has lost
		if err := u.queue(ctx); err != nil {
			return nil, err
		}
		u.current, u.confirmed = r.newest(u.key, u.current), false
	}
	return u.current, nil
}

func (u *GuardedUpdate) queue(ctx context.Context) (err error) {
	u.leave, err = u.resource.updates.enter(ctx, u.key)
	return err
}

// Commit carries out a change of the entry that Read has returned. It returns the new entry after Put, the present
// one after Keep (nil if there is none), and after Delete the last one, with the revision of the deletion.
// ErrConflict: the key was changed meanwhile. ErrNotFound: there is nothing to delete. ErrCondition: a condition of
// the update does not hold.
func (u *GuardedUpdate) Commit(ctx context.Context, change Change) (*Entry, error) {
	if change.Op == Keep || change.Op == Delete && u.current == nil {
		if err := u.Confirm(ctx); err != nil {
			return nil, err
		}
	}
	switch change.Op {
	case Keep:
		if u.current == nil || !u.current.stale || u.current.Err != nil {
			return u.current, nil
		}
		// The same value again, but encrypted by the current key. It expires when it would have.
		views := u.current.views.Load()
		again := Change{Value: u.current.Value, Attach: func(e *Entry) { e.views.Store(views) }}
		return u.put(ctx, again, clientv3.WithIgnoreLease())
	case Put:
		return u.put(ctx, change)
	case Delete:
		return u.delete(ctx, change.If)
	default:
		return nil, fmt.Errorf("%w: %d", errUnknownOp, change.Op)
	}
}

var errUnknownOp = errors.New("unknown op")

// Confirm returns ErrConflict if the entry that Read has returned is not the present one. It is for attempts that end
// without a commit: the reason for that may be out of date, too.
func (u *GuardedUpdate) Confirm(ctx context.Context) error {
	if u.confirmed {
		return nil
	}
	present, err := u.resource.consistent(ctx, u.key)
	if err != nil {
		return err
	}
	if !same(present, u.current) {
		return u.conflict(present)
	}
	return nil
}

// conflict makes the next attempt start from present.
func (u *GuardedUpdate) conflict(present *Entry) error {
	u.current, u.confirmed = present, true
	return ErrConflict
}

// origin returns the entry an update begins with, and whether it is known to be the present one.
func (r *Resource) origin(
	ctx context.Context, key string, options UpdateOptions,
) (current *Entry, confirmed bool, err error) {
	if !options.Fresh {
		if e, _, ok := r.cached(key); ok {
			return r.newest(key, e), false, nil
		}
		if options.Absent {
			return nil, false, nil
		}
	}
	current, err = r.fresh(ctx, key)
	return current, true, err
}

// fresh returns the entry of a key in etcd; nil if there is none.
func (r *Resource) fresh(ctx context.Context, key string) (*Entry, error) {
	e, _, err := r.getStored(ctx, key, 0)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	return e, err
}

// consistent returns the present entry of a key, from the cache if that is up to date; nil if there is none.
func (r *Resource) consistent(ctx context.Context, key string) (*Entry, error) {
	e, _, err := r.Get(ctx, key, ReadAt{Mode: Consistent})
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	return e, err
}

func same(a, b *Entry) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Revision == b.Revision
}
