package controllers

import (
	"context"
	"hash/maphash"
)

// groupLocks let the CRDs of a group take turns. There is a fixed number of them, shared by all groups; a lock is
// held by whoever has put something into its channel, so waiting for one ends with a context.
type groupLocks struct {
	seed  maphash.Seed
	locks [64]chan struct{}
}

func newGroupLocks() *groupLocks {
	g := &groupLocks{seed: maphash.MakeSeed()}
	for n := range g.locks {
		g.locks[n] = make(chan struct{}, 1)
	}
	return g
}

func (g *groupLocks) lock(ctx context.Context, group string) (unlock func(), err error) {
	lock := g.locks[maphash.String(g.seed, group)%uint64(len(g.locks))]
	select {
	case lock <- struct{}{}:
		return func() { <-lock }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
