package validation

import (
	"sync"
	"sync/atomic"
)

// lazy holds a part that is built when it is first asked for. Unlike sync.OnceValues it needs no closure beforehand, so that
// a CRD nobody uses costs no more than its zero values. The zero lazy is ready to use; it must not be copied.
type lazy[T any] struct {
	built atomic.Pointer[outcome[T]]
	mu    sync.Mutex // held while building, so that a part is built once only
}

// outcome is what building came to; an error is kept like a value, since building again would meet it again.
type outcome[T any] struct {
	value T
	err   error
}

// get returns the part, built by build if this is the first call.
func (l *lazy[T]) get(build func() (T, error)) (T, error) {
	if o := l.built.Load(); o != nil {
		return o.value, o.err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if o := l.built.Load(); o != nil {
		return o.value, o.err
	}
	o := &outcome[T]{}
	o.value, o.err = build()
	l.built.Store(o)
	return o.value, o.err
}

// peek returns what building came to, nil if the part has not been built.
func (l *lazy[T]) peek() *outcome[T] { return l.built.Load() }
