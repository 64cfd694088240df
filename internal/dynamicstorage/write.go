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
	// If are conditions for every write of the update. When one does not hold, the error is an ErrCondition.
	If []Condition
}

var errUnknownOp = errors.New("unknown op")

// Update changes the entry of a key in a transaction that is guarded by the entry's revision: mutate is called again, with the
// entry there is then, when it was changed meanwhile. That ends with ctx only.
//
// Updates of one key that get into each other's way take turns.
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
	u := &updating{resource: r, key: key, mutate: mutate, options: options}
	defer u.giveBack()
	if r.turns.contended(key) {
		if err := u.takeTurn(ctx); err != nil {
			return nil, err
		}
	}
	cur, current, err := r.origin(ctx, key, options)
	if err != nil {
		return nil, err
	}
	for {
		e, lost, err := u.attempt(ctx, cur, current)
		if lost == nil {
			return e, err
		}
		cur, current = lost.cur, true
		if u.done == nil {
			if err := u.takeTurn(ctx); err != nil {
				return nil, err
			}
			cur, current = r.newest(key, cur), false
		}
	}
}

// updating is one Update on its way.
type updating struct {
	resource *Resource
	key      string
	mutate   Mutate
	options  UpdateOptions
	done     func() // gives the turn back; nil without one
}

func (u *updating) takeTurn(ctx context.Context) (err error) {
	u.done, err = u.resource.turns.take(ctx, u.key)
	return err
}

func (u *updating) giveBack() {
	if u.done != nil {
		u.done()
	}
}

// attempt asks mutate about cur and carries out what it says. current says that cur is known to be the present state.
func (u *updating) attempt(ctx context.Context, cur *Entry, current bool) (*Entry, *conflict, error) {
	change, failure := u.mutate(ctx, cur)
	final := failure != nil || change.Op == Keep || change.Op == Delete && cur == nil
	if final && !current {
		fresh, err := u.resource.consistent(ctx, u.key)
		if err != nil {
			return nil, nil, err
		}
		if !same(fresh, cur) {
			return nil, &conflict{cur: fresh}, nil
		}
	}
	if failure != nil {
		return nil, nil, failure
	}
	e, lost, err := u.commit(ctx, cur, change)
	if lost != nil && same(lost.cur, cur) {
		return nil, nil, fmt.Errorf("%w: %s", ErrCondition, u.resource.fullKey(u.key))
	}
	return e, lost, err
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

// consistent returns what there is at a key now, from memory if that is up to date.
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

// conflict says that a key was changed by somebody else: cur is what it holds now, nil if nothing.
type conflict struct{ cur *Entry }

// commit carries out a change of cur.
func (u *updating) commit(ctx context.Context, cur *Entry, change Change) (*Entry, *conflict, error) {
	switch change.Op {
	case Keep:
		if cur == nil || !cur.stale || cur.Err != nil {
			return cur, nil, nil
		}
		// The same value again, but encrypted by the current key.
		return u.put(ctx, cur, Change{Value: cur.Value, Attach: func(e *Entry) { e.views.Store(cur.views.Load()) }})
	case Put:
		return u.put(ctx, cur, change)
	case Delete:
		return u.delete(ctx, cur)
	default:
		return nil, nil, fmt.Errorf("%w: %d", errUnknownOp, change.Op)
	}
}

func (u *updating) put(ctx context.Context, cur *Entry, change Change) (*Entry, *conflict, error) {
	r, key := u.resource, u.key
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
	op := clientv3.OpPut(r.fullKey(key), "")
	op.WithValueBytes(w.stored) // nobody changes them; as a string they would be copied twice
	revision, lost, err := u.transact(ctx, cur, op)
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

func (u *updating) delete(ctx context.Context, cur *Entry) (*Entry, *conflict, error) {
	if cur == nil {
		return nil, nil, ErrNotFound
	}
	revision, lost, err := u.transact(ctx, cur, clientv3.OpDelete(u.resource.fullKey(u.key)))
	if err != nil || lost != nil {
		return nil, lost, err
	}
	return cur.at(revision), nil, nil
}

// transact does op if the key still holds cur and the conditions hold, and returns the revision of it.
func (u *updating) transact(ctx context.Context, cur *Entry, op clientv3.Op) (int64, *conflict, error) {
	var expected int64
	if cur != nil {
		expected = cur.Revision
	}
	full := u.resource.fullKey(u.key)
	compares := []clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(full), "=", expected)}
	for _, condition := range u.options.If {
		compares = append(compares, condition.compare)
	}
	resp, err := u.resource.store.client.Txn(ctx).If(compares...).Then(op).Else(clientv3.OpGet(full)).Commit()
	switch {
	case err != nil:
		return 0, nil, etcdError(ctx, "writing to etcd", err)
	case resp.Succeeded:
		return resp.Header.Revision, nil, nil
	}
	lost := &conflict{}
	if kvs := resp.Responses[0].GetResponseRange().Kvs; len(kvs) > 0 {
		lost.cur = u.resource.entry(ctx, kvs[0])
	}
	return 0, lost, nil
}
