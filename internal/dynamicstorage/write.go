package dynamicstorage

import (
	"context"
	"errors"
	"fmt"

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

// Change is what a mutate function makes of an entry.
type Change struct {
	Op Op
	// Value is stored by Put. It belongs to the new entry from then on.
	Value []byte
	// Attach, if not nil, is called with the new entry before anybody else sees it: for views that are known already. In
	// rare cases it is called again with another new entry.
	Attach func(*Entry)
}

// Mutate says what becomes of an entry. cur is nil when there is none; it is not modified.
type Mutate = func(ctx context.Context, cur *Entry) (Change, error)

// UpdateOptions say how an update begins.
type UpdateOptions struct {
	// Fresh begins with what etcd has, not with what memory has.
	Fresh bool
	// Absent begins, without reading, with there being no entry: for creations.
	Absent bool
}

var errUnknownOp = errors.New("unknown op")

// Update changes the entry of a key in a transaction that is guarded by the entry's revision: mutate is called again, with the
// entry there is then, when it was changed meanwhile. That ends with ctx only.
//
// What mutate sees first may be outdated. If it then fails or keeps the entry, it is asked again with a fresh
// one, unless that is the same: what Update returns is true of a state that etcd has had during the call.
//
// The entry returned is the new one after Put, the present one after Keep (nil if there is none), and after Delete the last
// one, with the revision of the deletion. Deleting what is not there is an ErrNotFound.
func (r *Resource) Update(ctx context.Context, key string, mutate Mutate, options UpdateOptions) (*Entry, error) {
	if !validKey(key) {
		return nil, fmt.Errorf("%w: %q", ErrInvalidKey, key)
	}
	cur, current, err := r.origin(ctx, key, options)
	if err != nil {
		return nil, err
	}
	for {
		change, failure := mutate(ctx, cur)
		final := failure != nil || change.Op == Keep || change.Op == Delete && cur == nil
		if final && !current {
			fresh, err := r.fresh(ctx, key)
			if err != nil {
				return nil, err
			}
			if current = true; !same(fresh, cur) {
				cur = fresh
				continue
			}
		}
		if failure != nil {
			return nil, failure
		}
		e, lost, err := r.commit(ctx, key, cur, change)
		if lost == nil {
			return e, err
		}
		cur, current = lost.cur, true
	}
}

// origin returns the entry an update begins with, and whether it is known to be the present one.
func (r *Resource) origin(ctx context.Context, key string, options UpdateOptions) (cur *Entry, current bool, err error) {
	if !options.Fresh {
		if e, _, ok := r.cached(key, true); ok {
			return r.newest(key, e), false, nil
		}
		if options.Absent {
			return nil, false, nil
		}
	}
	cur, err = r.fresh(ctx, key)
	return cur, true, err
}

// fresh returns what etcd has for a key; nil if nothing.
func (r *Resource) fresh(ctx context.Context, key string) (*Entry, error) {
	e, _, err := r.getStored(ctx, key, 0)
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

// conflict says that a key was changed by somebody else: cur is what it holds now, nil if nothing.
type conflict struct{ cur *Entry }

// commit carries out a change of cur.
func (r *Resource) commit(ctx context.Context, key string, cur *Entry, change Change) (*Entry, *conflict, error) {
	switch change.Op {
	case Keep:
		if cur == nil || !cur.stale || cur.Err != nil {
			return cur, nil, nil
		}
		// The same value again, but encrypted by the current key.
		return r.put(ctx, key, cur, Change{Value: cur.Value, Attach: func(e *Entry) { e.views.Store(cur.views.Load()) }})
	case Put:
		return r.put(ctx, key, cur, change)
	case Delete:
		return r.delete(ctx, key, cur)
	default:
		return nil, nil, fmt.Errorf("%w: %d", errUnknownOp, change.Op)
	}
}

func (r *Resource) put(ctx context.Context, key string, cur *Entry, change Change) (*Entry, *conflict, error) {
	w := &write{key: key, value: change.Value, stored: change.Value, attach: change.Attach}
	options := &r.store.options
	w.header, w.err = options.header(w.value)
	if options.Transform != nil {
		var err error
		if w.stored, err = options.Transform.ToStorage(ctx, w.value, r.fullKey(key)); err != nil {
			return nil, nil, fmt.Errorf("value of %s cannot be stored: %w", r.fullKey(key), err)
		}
	}
	r.expect(w)
	revision, lost, err := r.transact(ctx, key, cur, clientv3.OpPut(r.fullKey(key), string(w.stored)))
	if err != nil || lost != nil {
		r.forget(w)
		return nil, lost, err
	}
	created := revision
	if cur != nil {
		created = cur.created
	}
	e := w.at(revision, created)
	r.settle(w, e)
	return e, nil, nil
}

func (r *Resource) delete(ctx context.Context, key string, cur *Entry) (*Entry, *conflict, error) {
	if cur == nil {
		return nil, nil, ErrNotFound
	}
	revision, lost, err := r.transact(ctx, key, cur, clientv3.OpDelete(r.fullKey(key)))
	if err != nil || lost != nil {
		return nil, lost, err
	}
	return cur.at(revision), nil, nil
}

// transact does op if the key still holds cur, and returns the revision of it.
func (r *Resource) transact(ctx context.Context, key string, cur *Entry, op clientv3.Op) (int64, *conflict, error) {
	var expected int64
	if cur != nil {
		expected = cur.Revision
	}
	full := r.fullKey(key)
	resp, err := r.store.client.Txn(ctx).
		If(clientv3.Compare(clientv3.ModRevision(full), "=", expected)).
		Then(op).
		Else(clientv3.OpGet(full)).
		Commit()
	switch {
	case err != nil:
		return 0, nil, etcdError(ctx, "writing to etcd", err)
	case resp.Succeeded:
		return resp.Header.Revision, nil, nil
	}
	lost := &conflict{}
	if kvs := resp.Responses[0].GetResponseRange().Kvs; len(kvs) > 0 {
		lost.cur = r.entry(ctx, kvs[0])
	}
	return 0, lost, nil
}
