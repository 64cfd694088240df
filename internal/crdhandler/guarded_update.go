package crdhandler

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/budget"
	"github.com/crd-server/crd-server/internal/crdhandler/stored"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// guardedUpdate changes one stored object. Every write but the creation by POST is one: PUT, PATCH, apply, DELETE. It
// drives a dynamicstorage.GuardedUpdate, whose transaction fails if the object no longer has the revision that the change
// was computed from.
//
// run calls commit. For each attempt, commit calls computeIn (through attempt, the no-op cache, and compute, the fallback
// for objects that cannot be converted), which decodes the object, asks the change for a proposal and encodes it. The
// change is a replacement (replacement.go) or a deletion (delete.go).
type guardedUpdate struct {
	scope  *requestScope
	key    string
	change objectChange
	// dryRun ends the update before the transaction.
	dryRun bool
	// orStored passes the object to the change in the version it is stored in, if it cannot be converted.
	orStored bool
	// noOp, if set, skips a change that is known to change nothing.
	noOp *noOpCheck
}

// objectChange computes what a guardedUpdate stores. An update asks again, with the newer object, each time another
// write was faster.
type objectChange interface {
	// propose returns the change of the existing object, which it may modify; existing is nil if there is none.
	propose(ctx context.Context, existing runtime.Object) (proposal, error)
}

// proposal is the change that one attempt of an update computes.
type proposal struct {
	// obj is the new object. With remove it is the last state of the object.
	obj runtime.Object
	// remove deletes the object.
	remove bool
	// creation has made obj, because there was no object before; else it is nil.
	creation *creation
	// merged says that obj was merged, by an apply or with a Scale, instead of decoded. It may hold what no decoding
	// leaves, such as empty labels, and lack defaults.
	merged bool
	// allocation is what obj shares with other objects. It ends with the attempt.
	allocation *allocation
	// committed, if set, is called when obj has been stored.
	committed func()
}

// updateResult is the state of the object after an update.
type updateResult struct {
	result
	created, removed bool
	// removedAt is the revision at which the object was removed; 0 in a dry run.
	removedAt int64
}

// run carries out the update, and waits until it is in effect.
func (u *guardedUpdate) run(ctx context.Context) (updateResult, error) {
	res, err := u.commit(ctx)
	if err != nil {
		return updateResult{}, u.scope.writeError(err, stored.Name(u.key))
	}
	if res.removed && !u.dryRun {
		u.scope.release(ctx, res.obj)
	}
	if !u.dryRun {
		u.scope.waitInEffect(ctx, stored.Name(u.key))
	}
	return res, nil
}

// commit reads the stored object, lets the change propose a new one, and commits that. It starts again when another
// write was faster.
func (u *guardedUpdate) commit(ctx context.Context) (updateResult, error) {
	storage := u.scope.storage
	tx, err := storage.Resource.BeginUpdate(u.key, dynamicstorage.UpdateOptions{If: storage.Conditions})
	if err != nil {
		return updateResult{}, err
	}
	defer tx.End()
	for {
		current, err := tx.Read(ctx)
		if err != nil {
			return updateResult{}, err
		}
		if err := reserveFor(ctx, current); err != nil {
			return updateResult{}, err
		}
		p, change, err := u.attempt(ctx, current)
		var entry *dynamicstorage.Entry
		if err == nil && !u.dryRun {
			entry, err = tx.Commit(ctx, change)
		} else if outdated := tx.Confirm(ctx); outdated != nil {
			err = outdated
		}
		p.allocation.end(ctx, err == nil)
		if errors.Is(err, dynamicstorage.ErrConflict) || p.creation.outdated(err) {
			continue
		}
		if err == nil && p.committed != nil {
			p.committed()
		}
		return p.result(entry), err
	}
}

// reserveFor reserves the memory to work on an entry. A request for an object in the cache has done so before.
func reserveFor(ctx context.Context, entry *dynamicstorage.Entry) error {
	if entry == nil {
		return nil
	}
	return budget.Reserve(ctx, len(entry.Value))
}

// result returns the state of the object after the update: the entry that was stored, or the object of a proposal
// that has stored none.
func (p *proposal) result(entry *dynamicstorage.Entry) updateResult {
	res := updateResult{result: result{entry: entry}, created: p.creation != nil, removed: p.remove}
	if p.remove && entry != nil {
		res.removedAt = entry.Revision
	}
	if p.remove || entry == nil {
		res.result = result{obj: p.obj}
	}
	return res
}

// attempt returns the proposal for the current entry, and the change of it. In a dry run the object of the proposal
// is as it would be read.
func (u *guardedUpdate) attempt(ctx context.Context, current *dynamicstorage.Entry) (proposal, dynamicstorage.Change, error) {
	if u.noOp != nil && current != nil {
		return u.noOp.attempt(ctx, u, current)
	}
	return u.compute(ctx, current)
}

// compute is attempt without the no-op cache. An object that cannot be converted is changed in the version it is
// stored in, if the update allows that.
func (u *guardedUpdate) compute(ctx context.Context, current *dynamicstorage.Entry) (proposal, dynamicstorage.Change, error) {
	s := u.scope.storage
	p, change, err := u.computeIn(ctx, current, servedForm(s))
	var unconverted *unconvertedError
	if !errors.As(err, &unconverted) {
		return p, change, err
	}
	if u.orStored && ctx.Err() == nil {
		stored, storedChange, storedErr := u.computeIn(ctx, current, storedForm(s))
		if !errors.As(storedErr, &unconverted) {
			return stored, storedChange, storedErr
		}
	}
	return proposal{}, dynamicstorage.Change{}, unconverted.error
}

// computeIn decodes the current entry in a form, asks for the proposal, and encodes that.
func (u *guardedUpdate) computeIn(ctx context.Context, current *dynamicstorage.Entry, f form) (p proposal, change dynamicstorage.Change, err error) {
	existing, err := f.object(ctx, current)
	if err != nil {
		return proposal{}, change, err
	}
	if p, err = u.change.propose(ctx, existing); err != nil {
		return proposal{}, change, err
	}
	switch {
	case p.remove:
		return p, dynamicstorage.Change{Op: dynamicstorage.Delete}, nil
	case u.dryRun:
		p.obj, err = asRead(ctx, f.objects, p.obj)
	default:
		change, err = f.change(ctx, p, current)
	}
	if err != nil {
		p.allocation.end(ctx, false)
		return proposal{}, change, &unconvertedError{err}
	}
	return p, change, nil
}
