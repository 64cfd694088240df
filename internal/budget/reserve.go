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
	governor *Governor

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

func of(ctx context.Context) *Reservation {
	r, _ := ctx.Value(contextKey{}).(*Reservation)
	return r
}

// Reserve reserves the memory that the request of ctx may take, by the size in bytes of what is going to be decoded or
// encoded. It returns at once if the size is small, or if the request has reserved as much before. Otherwise it waits
// until memory is free, for a quarter of the time that the request has. The error is a Status: 429, or 504 if the
// context is done.
//
// A request should reserve once, before it is worked on, for the largest size it knows: the second time it does not
// wait, because others may wait for what it holds.
func Reserve(ctx context.Context, size int) error {
	if size <= SmallSize {
		return nil
	}
	r := of(ctx)
	if r == nil || r.governor == nil {
		return nil
	}
	caller, _ := request.UserFrom(ctx)
	if caller != nil && caller.GetName() == user.APIServerUser {
		return nil // a request that the server makes to itself: what waits for it may hold memory
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.raiseLocked(ctx, caller, r.governor.weigh(int64(size)))
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
func (r *Reservation) raiseLocked(ctx context.Context, caller user.Info, wanted int64) error {
	switch {
	case r.ended:
		return timeout()
	case wanted <= r.held:
		return nil
	case r.held > 0:
		if !r.tryLocked(wanted - r.held) {
			return busy()
		}
	default:
		if err := r.waitLocked(ctx, caller, wanted); err != nil {
			return err
		}
	}
	reserved.Add(float64(wanted - r.held))
	r.held = wanted
	return nil
}

// tryLocked acquires n more bytes if they are free.
func (r *Reservation) tryLocked(n int64) bool {
	if !r.share.free.TryAcquire(n) {
		return false
	}
	if !r.governor.free.TryAcquire(n) {
		r.share.free.Release(n)
		return false
	}
	return true
}

// waitLocked waits for the first n bytes of the request.
func (r *Reservation) waitLocked(ctx context.Context, caller user.Info, n int64) error {
	waiting.Inc()
	defer waiting.Dec()
	limited, cancel := context.WithTimeout(ctx, waitOf(ctx))
	defer cancel()
	if caller != nil {
		r.user = caller.GetName()
	}
	r.share = r.governor.enter(r.user)
	err := r.share.free.Acquire(limited, n)
	if err == nil {
		if err = r.governor.free.Acquire(limited, n); err == nil {
			return nil
		}
		r.share.free.Release(n)
	}
	r.leaveLocked()
	if ctx.Err() != nil {
		return timeout()
	}
	return busy()
}

func (r *Reservation) leaveLocked() {
	r.governor.leave(r.user, r.share)
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
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	if r.held == 0 {
		return
	}
	r.governor.free.Release(r.held)
	r.share.free.Release(r.held)
	r.leaveLocked()
	reserved.Add(-float64(r.held))
	r.held = 0
}
