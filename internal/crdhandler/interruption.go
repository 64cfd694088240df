package crdhandler

import "context"

// interruption is a panic that ends work on a request whose context is done, from within what knows no contexts; uninterrupted makes an error of it.
type interruption struct{ err error }

// uninterrupted returns what do returns, or why ctx is done: if it is already, or if that has interrupted it.
func uninterrupted[T any](ctx context.Context, do func() (T, error)) (result T, err error) {
	if err := ctx.Err(); err != nil {
		return result, err
	}
	defer func() {
		switch reason := recover().(type) {
		case nil:
		case interruption:
			err = reason.err
		default:
			panic(reason)
		}
	}()
	return do()
}

// interrupt panics with an interruption if ctx, which may be nil, is done.
func interrupt(ctx context.Context) {
	if ctx != nil && ctx.Err() != nil {
		panic(interruption{ctx.Err()})
	}
}

// lookout interrupts a walk when its context is done. It looks every so often: a walk of few steps comes to its end first.
type lookout struct {
	ctx   context.Context
	steps int
}

// stepsAtOnce is how many steps a walk makes between two looks. They take some 100 microseconds.
const stepsAtOnce = 256

// pass counts a step.
func (l *lookout) pass() {
	if l.steps++; l.steps%stepsAtOnce == 0 {
		interrupt(l.ctx)
	}
}
