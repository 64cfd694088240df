package write

import (
	"context"
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/crdhandler/stored"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// Propose returns the change of an existing object, which it may modify; existing is nil if there is none.
type Propose func(ctx context.Context, existing runtime.Object) (Proposal, error)

// Proposal is the change of an object that one attempt of a write proposes.
type Proposal struct {
	// Obj is the new object. With Remove it is the last state of the object.
	Obj runtime.Object
	// Remove deletes the object.
	Remove bool
	// Merged says that Obj was merged, by an apply or with a Scale, instead of decoded. It may hold what no decoding
	// leaves, such as empty labels, and lack defaults.
	Merged bool
	// If are conditions for the commit. If one does not hold, Propose is called again, and must find out why.
	If []dynamicstorage.Condition

	// creation has made Obj, because there was no object before; else it is nil.
	creation *Creation
	// allocation is what Obj shares with other objects. It ends with the attempt.
	allocation *resource.Allocated
	// committed, if set, is called when Obj has been stored.
	committed func()
}

// Options are the options of Retry.
type Options struct {
	// DryRun ends the write before the transaction.
	DryRun bool
	// OrStored passes the object to Propose in the version it is stored in, if it cannot be converted.
	OrStored bool
	// NoOp, if set, skips a write that is known to change nothing.
	NoOp *NoOpCheck
	// Shrink, if set, makes the next proposal smaller. It is called once, when the object is too large for etcd.
	Shrink func()
}

// Result is the state of an object after a write.
type Result struct {
	stored.Answer
	Created, Removed bool
	// RemovedAt is the revision at which the object was removed; 0 in a dry run.
	RemovedAt int64
}

// Code returns the HTTP status of an answer with the object.
func (r Result) Code() int {
	if r.Created {
		return http.StatusCreated
	}
	return http.StatusOK
}

// Retry changes one stored object, and waits until the change is in effect. It calls propose with the object, commits
// the proposal in a transaction that fails if the object has changed since it was read, and starts again from the newer
// object then.
func (e *Endpoint) Retry(ctx context.Context, key string, propose Propose, options Options) (Result, error) {
	u := update{e, key, propose, options}
	res, err := u.run(ctx)
	if errors.Is(err, dynamicstorage.ErrTooLarge) && options.Shrink != nil {
		options.Shrink()
		res, err = u.run(ctx)
	}
	if res.Removed && !options.DryRun { // also if err leaves that in doubt
		e.release(ctx, res.Obj)
	}
	if err != nil {
		return Result{}, e.APIError(err, stored.Name(key))
	}
	if !options.DryRun {
		e.WaitInEffect(ctx, stored.Name(key))
	}
	if e.Scale != nil {
		res.Obj, err = e.writtenScale(ctx, res)
		res.Entry = nil
	}
	return res, err
}

// writtenScale returns the Scale of an object after a write. Its replicas are zero if the schema does not know their
// field, so that a read does not find them.
func (e *Endpoint) writtenScale(ctx context.Context, res Result) (runtime.Object, error) {
	obj, err := res.Obj, error(nil)
	if res.Entry != nil {
		if obj, err = e.Objects.Object(ctx, res.Entry); err != nil {
			return nil, e.Objects.APIError(err, stored.Name(res.Entry.Key))
		}
	}
	scale, err := e.Scale.Shown(obj)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return scale, nil
}

// update is one call of Retry, for any verb.
type update struct {
	*Endpoint
	key     string
	propose Propose
	options Options
}

// run is the loop of Retry.
func (u *update) run(ctx context.Context) (Result, error) {
	tx, err := u.Objects.Resource.BeginUpdate(u.key, dynamicstorage.UpdateOptions{If: u.Objects.Conditions})
	if err != nil {
		return Result{}, err
	}
	defer tx.End()
	for {
		current, err := tx.Read(ctx)
		if err != nil {
			return Result{}, err
		}
		if err := stored.Reserve(ctx, current); err != nil {
			return Result{}, err
		}
		p, change, err := u.attempt(ctx, current)
		var entry *dynamicstorage.Entry
		if err == nil && !u.options.DryRun {
			entry, err = tx.Commit(ctx, change)
		} else if outdated := tx.Confirm(ctx); outdated != nil {
			err = outdated
		}
		p.allocation.End(ctx, err == nil)
		if errors.Is(err, dynamicstorage.ErrConflict) || p.outdated(err) {
			continue
		}
		if err == nil && p.committed != nil {
			p.committed()
		}
		return p.result(entry), err
	}
}

// outdated reports whether a commit has failed because a condition of the proposal does not hold any more.
func (p *Proposal) outdated(err error) bool {
	return p.creation.outdated(err) || len(p.If) > 0 && errors.Is(err, dynamicstorage.ErrCondition)
}

// result returns the state of the object after the write: the entry that was stored, or the object of a proposal that
// has stored none.
func (p *Proposal) result(entry *dynamicstorage.Entry) Result {
	res := Result{Answer: stored.Answer{Entry: entry}, Created: p.creation != nil, Removed: p.Remove}
	if p.Remove && entry != nil {
		res.RemovedAt = entry.Revision
	}
	if p.Remove || entry == nil {
		res.Answer = stored.Answer{Obj: p.Obj}
	}
	return res
}

// attempt returns the proposal for the current entry, and the change of it. In a dry run the object of the proposal is
// as it would be read.
func (u *update) attempt(ctx context.Context, current *dynamicstorage.Entry) (Proposal, dynamicstorage.Change, error) {
	if u.options.NoOp != nil && current != nil {
		return u.options.NoOp.attempt(ctx, u, current)
	}
	return u.compute(ctx, current)
}

// compute is attempt without the no-op cache. An object that cannot be converted is changed in the version it is stored
// in, if the options allow that.
func (u *update) compute(ctx context.Context, current *dynamicstorage.Entry) (Proposal, dynamicstorage.Change, error) {
	p, change, err := u.computeIn(ctx, servedForm(u.Objects), current)
	var unconverted *unconvertedError
	if !errors.As(err, &unconverted) {
		return p, change, err
	}
	if u.options.OrStored && ctx.Err() == nil {
		p, change, err := u.computeIn(ctx, storedForm(u.Objects), current)
		if !errors.As(err, &unconverted) {
			return p, change, err
		}
	}
	return Proposal{}, dynamicstorage.Change{}, unconverted.error
}

// computeIn decodes the current entry in a form, asks for the proposal, and encodes that.
func (u *update) computeIn(
	ctx context.Context, f form, current *dynamicstorage.Entry,
) (p Proposal, change dynamicstorage.Change, err error) {
	existing, err := f.object(ctx, current)
	if err != nil {
		return Proposal{}, change, err
	}
	if p, err = u.propose(ctx, existing); err != nil {
		return Proposal{}, change, err
	}
	switch {
	case p.Remove:
		return p, dynamicstorage.Change{Op: dynamicstorage.Delete, If: p.If}, nil
	case u.options.DryRun:
		p.Obj, err = asRead(ctx, f.objects, p.Obj)
	default:
		change, err = f.change(ctx, p, current)
	}
	if err != nil {
		p.allocation.End(ctx, false)
		return Proposal{}, change, &unconvertedError{err}
	}
	return p, change, nil
}
