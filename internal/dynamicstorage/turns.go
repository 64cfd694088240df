package dynamicstorage

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// turns puts the updates of one key in a row once one of them has lost against another. Without it each success makes all
// others begin again: their work grows with the square of their number, and who is unlucky never comes through. Keys that
// nobody contends for are not in it. Updates of other processes on the same etcd are not either; against those the
// guard by revision is enough.
type turns struct {
	// mu guards rows and the counts in them.
	mu   sync.Mutex
	rows map[string]*row
}

// row is who waits to update a key; first come, first served.
type row struct {
	turn  *semaphore.Weighted
	count int // who has the turn or waits for it
}

// contended says whether there is a row for the key.
func (t *turns) contended(key string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.rows[key] != nil
}

// take returns when it is the caller's turn, which it gives back by done.
func (t *turns) take(ctx context.Context, key string) (done func(), err error) {
	t.mu.Lock()
	r := t.rows[key]
	if r == nil {
		r = &row{turn: semaphore.NewWeighted(1)}
		if t.rows == nil {
			t.rows = map[string]*row{}
		}
		t.rows[key] = r
	}
	r.count++
	t.mu.Unlock()
	if err := r.turn.Acquire(ctx, 1); err != nil {
		t.leave(key, r)
		return nil, context.Cause(ctx)
	}
	return func() {
		r.turn.Release(1)
		t.leave(key, r)
	}, nil
}

func (t *turns) leave(key string, r *row) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r.count--; r.count == 0 {
		delete(t.rows, key)
	}
}
