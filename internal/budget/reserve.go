package budget

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
)

const (
	// waitPart is the part of the time left to a request that it may wait for memory, as in the queues of
	// kube-apiserver's priority and fairness.
	waitPart = 4
	// defaultWait is for requests without a deadline.
	defaultWait = 15 * time.Second
	// retryAfter is the number of seconds after which a client may try again.
	retryAfter = 1
)

// Reservation is the memory that one request has reserved.
type Reservation struct {
	governor     *Governor
	bodies, work part
}

// part is the memory of one request in one pool.
type part struct {
	// mu guards the fields below: a handler that was abandoned at the deadline may still run after End, and a handler may
	// have workers. It is held while the request waits for memory, which ends with the context.
	mu sync.Mutex
	// user has share, which is nil before the request reserves memory.
	user  string
	share *share
	held  int64
	ended bool
}

// contextKey is that of the Reservation in a request's context.
type contextKey struct{}

// Begin returns a context for one request, whose handlers can call Reserve. The caller must call End when the request
// has ended. A nil Governor bounds nothing.
func (g *Governor) Begin(ctx context.Context) (context.Context, *Reservation) {
	r := &Reservation{governor: g}
	return context.WithValue(ctx, contextKey{}, r), r
}

// of returns the Reservation of a request; nil if nothing bounds its memory.
func of(ctx context.Context) *Reservation {
	if r, _ := ctx.Value(contextKey{}).(*Reservation); r != nil && r.governor != nil {
		return r
	}
	return nil
}

// ReserveBody reserves memory for a body of so many bytes before it is read. It waits and fails as Reserve does.
func ReserveBody(ctx context.Context, size int64) error {
	if r := of(ctx); r != nil && size > SmallSize {
		return r.bodies.reserve(ctx, &r.governor.bodies, size)
	}
	return nil
}

// Reserve reserves the memory that the request of ctx may take, by the size in bytes of what is going to be decoded or
// encoded. It returns at once if the size is small, or if the request has reserved as much before. Otherwise it waits
// until memory is free, for a quarter of the time that the request has. The error is a Status: 429, or 504 if the
// context is done.
//
// A request should reserve once, before it is worked on, for the largest size it knows: the second time it does not
// wait, because others may wait for what it holds. A request that may take more than one user can reserve is served
// alone.
func Reserve(ctx context.Context, size int) error {
	if r := of(ctx); r != nil && size > SmallSize {
		return r.work.reserve(ctx, &r.governor.work, Of(int64(size)))
	}
	return nil
}

// reserve reserves so many bytes of the pool in all, but never more than one user can have.
func (r *part) reserve(ctx context.Context, from *pool, bytes int64) error {
	caller, _ := request.UserFrom(ctx)
	if caller != nil && caller.GetName() == user.APIServerUser {
		return nil // a request that the server makes to itself: what waits for it may hold memory
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.raiseLocked(ctx, from, caller, min(bytes, from.share))
}

// While calls work with the memory for an input of this size reserved, and releases it afterwards. It is for requests
// that last, such as watches.
func While(ctx context.Context, size int, work func() error) error {
	r := of(ctx)
	if size <= SmallSize || r == nil {
		return work()
	}
	inner, reservation := r.governor.Begin(ctx)
	defer reservation.End()
	if err := Reserve(inner, size); err != nil {
		return err
	}
	return work()
}

// raiseLocked reserves wanted bytes in all.
func (r *part) raiseLocked(ctx context.Context, from *pool, caller user.Info, wanted int64) error {
	switch {
	case r.ended:
		return timeout()
	case wanted <= r.held:
		return nil
	case r.held > 0:
		if !r.tryLocked(from, wanted-r.held) {
			return busy()
		}
	default:
		if err := r.waitLocked(ctx, from, caller, wanted); err != nil {
			return err
		}
	}
	reserved.Add(float64(wanted - r.held))
	r.held = wanted
	return nil
}

// tryLocked acquires n more bytes if they are free.
func (r *part) tryLocked(from *pool, n int64) bool {
	if !r.share.free.TryAcquire(n) {
		return false
	}
	if !from.free.TryAcquire(n) {
		r.share.free.Release(n)
		return false
	}
	return true
}

// waitLocked waits for the first n bytes of the request.
func (r *part) waitLocked(ctx context.Context, from *pool, caller user.Info, n int64) error {
	waiting.Inc()
	defer waiting.Dec()
	limited, cancel := context.WithTimeout(ctx, waitOf(ctx))
	defer cancel()
	if caller != nil {
		r.user = caller.GetName()
	}
	r.share = from.enter(r.user)
	err := r.share.free.Acquire(limited, n)
	if err == nil {
		if err = from.free.Acquire(limited, n); err == nil {
			return nil
		}
		r.share.free.Release(n)
	}
	r.leaveLocked(from)
	if ctx.Err() != nil {
		return timeout()
	}
	return busy()
}

func (r *part) leaveLocked(from *pool) {
	from.leave(r.user, r.share)
	r.share = nil
}

// waitOf returns how long a request may wait.
func waitOf(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return time.Until(deadline) / waitPart
	}
	return defaultWait
}

// timeout is the answer to a request whose time is over, or whose client has gone.
func timeout() error {
	return apierrors.NewTimeoutError("request did not complete within the allotted timeout", 0)
}

// busy is the answer to a request that has waited in vain. It may succeed later.
func busy() error {
	return &ExceededError{Limit: InFlight, StatusError: apierrors.NewTooManyRequests(
		"the server is working on too many large requests, please try again later", retryAfter)}
}

// End releases the memory of the request.
func (r *Reservation) End() {
	if r.governor != nil {
		r.work.end(&r.governor.work)
		r.bodies.end(&r.governor.bodies)
	}
}

// end releases the memory for good.
func (r *part) end(from *pool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	if r.held == 0 {
		return
	}
	from.free.Release(r.held)
	r.share.free.Release(r.held)
	r.leaveLocked(from)
	reserved.Add(-float64(r.held))
	r.held = 0
}
