package validation

import (
	"sync"
	"sync/atomic"
)

// lazy holds a value that is built on first use. Unlike sync.OnceValues it needs no closure in advance, so an unused CRD costs only
// zero values. The zero lazy is ready to use. It must not be copied.
type lazy[T any] struct {
	built atomic.Pointer[result[T]]
	mu    sync.Mutex // held while building, so that the value is built only once
}

// result is a value or the error of building it. Errors are kept because building again would fail again.
type result[T any] struct {
	value T
	err   error
}

// get returns the value; the first call builds it.
func (l *lazy[T]) get(build func() (T, error)) (T, error) {
	if o := l.built.Load(); o != nil {
		return o.value, o.err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if o := l.built.Load(); o != nil {
		return o.value, o.err
	}
	o := &result[T]{}
	o.value, o.err = build()
	l.built.Store(o)
	return o.value, o.err
}

// peek returns the result, nil if get has not been called.
func (l *lazy[T]) peek() *result[T] { return l.built.Load() }
