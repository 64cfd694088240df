package dynamicstorage

import (
	"context"
	"errors"
	"fmt"
	"slices"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// put stores a value. Its event is expected from then on, so that the cache gets the entry that is returned.
func (u *GuardedUpdate) put(ctx context.Context, change Change, options ...clientv3.OpOption) (*Entry, error) {
	r, key := u.resource, u.key
	w := &pendingWrite{key: key, value: change.Value, stored: change.Value, attach: change.Attach}
	settings := &r.store.options
	w.header, w.err = settings.header(w.value)
	if settings.Transform != nil {
		var err error
		if w.stored, err = settings.Transform.ToStorage(ctx, w.value, r.fullKey(key)); err != nil {
			return nil, fmt.Errorf("value of %s cannot be stored: %w", r.fullKey(key), err)
		}
	}
	r.addPending(w)
	var revision int64
	var err error
	if change.Expires > 0 {
		revision, err = u.transactExpiring(ctx, w.stored, change)
	} else {
		revision, err = u.transact(ctx, u.putting(w.stored, options...), change.If)
	}
	if err != nil {
		r.dropPending(w)
		return nil, err
	}
	created := revision
	if u.current != nil {
		created = u.current.created
	}
	e := w.entryAt(revision, created)
	r.committed(w, e)
	r.written(ctx, revision)
	if settings.CheckViews {
		r.checkWritten(ctx, e)
	}
	return e, nil
}

// putting returns the operation that stores a value.
func (u *GuardedUpdate) putting(value []byte, options ...clientv3.OpOption) clientv3.Op {
	op := clientv3.OpPut(u.resource.fullKey(u.key), "", options...)
	op.WithValueBytes(value) // nothing changes them; a string would be a copy
	return op
}

func (u *GuardedUpdate) delete(ctx context.Context, conditions []Condition) (*Entry, error) {
	if u.current == nil {
		return nil, ErrNotFound
	}
	revision, err := u.transact(ctx, clientv3.OpDelete(u.resource.fullKey(u.key)), conditions)
	if err != nil {
		return nil, err
	}
	u.resource.written(ctx, revision)
	return u.current.at(revision), nil
}

// AfterWrites makes every write of the resource by this process call f with its revision, before the write returns. It
// is for followers of the feed whose state must show a write before its client gets the answer: f waits for that. f
// must return soon, also when the feed is interrupted. AfterWrites is called once, before the writes.
func (r *Resource) AfterWrites(f func(ctx context.Context, revision int64)) { r.afterWrites.Store(&f) }

// written calls the function of AfterWrites.
func (r *Resource) written(ctx context.Context, revision int64) {
	if f := r.afterWrites.Load(); f != nil {
		(*f)(ctx, revision)
	}
}

// transact does op if the key still holds the current entry, and the conditions and those of the update hold. It
// returns the revision of the transaction.
func (u *GuardedUpdate) transact(ctx context.Context, op clientv3.Op, conditions []Condition) (int64, error) {
	var expected int64
	if u.current != nil {
		expected = u.current.Revision
	}
	full := u.resource.fullKey(u.key)
	unchanged := []Condition{clientv3.Compare(clientv3.ModRevision(full), "=", expected)}
	compares := slices.Concat(unchanged, u.options.If, conditions)
	resp, err := u.resource.store.transact(ctx, compares, []clientv3.Op{op}, clientv3.OpGet(full))
	switch {
	case err != nil:
		return 0, err
	case resp.Succeeded:
		return resp.Header.Revision, nil
	}
	var present *Entry
	if kvs := resp.Responses[0].GetResponseRange().Kvs; len(kvs) > 0 {
		present = u.resource.entry(ctx, kvs[0])
	}
	if same(present, u.current) {
		return 0, fmt.Errorf("%w: %s", ErrCondition, full)
	}
	return 0, u.conflict(present)
}

// ErrCondition: a condition of an update did not hold at the commit. Nothing was written.
var ErrCondition = errors.New("condition does not hold")

// Condition must hold in etcd when a write is committed, in addition to the guard by revision.
type Condition = clientv3.Cmp

// Still holds while the key has the entry that was created at a revision. The entry may have been changed since, but
// not deleted.
func (r *Resource) Still(key string, created int64) Condition {
	return clientv3.Compare(clientv3.CreateRevision(r.fullKey(key)), "=", created)
}

// Unchanged holds while the entry of a key is the one of a revision: it was neither changed nor deleted since. With
// revision 0 it holds while there is no entry.
func (r *Resource) Unchanged(key string, revision int64) Condition {
	return clientv3.Compare(clientv3.ModRevision(r.fullKey(key)), "=", revision)
}

// Empty holds while the resource has no entries. etcd applies a comparison to every key of a range. If there is none,
// it compares a key that does not exist, whose revisions are 0.
func (r *Resource) Empty() Condition {
	return clientv3.Compare(clientv3.CreateRevision(r.prefix), "=", 0).WithPrefix()
}
