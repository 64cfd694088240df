package dynamicstorage

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// question asks etcd for its revision. An answer is good for all who came before it was asked for, so at most one is on
// its way, and everybody who comes meanwhile shares the next. It is one of those who wait that asks, for all of them: no
// goroutine stands by, and none is started.
type question struct {
	// mu guards the fields below.
	mu sync.Mutex
	// asking: somebody asks, or has been given the turn to.
	asking bool
	next   *answer // nobody has asked etcd for it yet; nil if nobody has come for it
	// crowded: more than one came for the last answer that was asked for.
	crowded bool
}

type answer struct {
	takers   int           // how many have come for it; guarded by the question's mu
	turn     chan struct{} // has an element, once, for whoever is to ask
	done     chan struct{} // closed when the fields below are set
	revision int64
	err      error
}

// errAbandoned: who asked could not wait for the answer.
var errAbandoned = errors.New("the question was abandoned")

// CurrentRevision returns the revision of etcd, at some moment between the call and its return.
func (s *Store) CurrentRevision(ctx context.Context) (int64, error) {
	for {
		a := s.question.join()
		select {
		case <-a.turn:
			s.question.ask(ctx, s, a)
		case <-a.done:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-s.background.Done():
			return 0, ErrClosed
		}
		switch {
		case !errors.Is(a.err, errAbandoned):
			return a.revision, a.err
		case ctx.Err() != nil:
			return 0, context.Cause(ctx)
		}
	}
}

// join returns the next answer. If nobody asks, it is the turn of those who wait for this one.
func (q *question) join() *answer {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.next == nil {
		q.next = &answer{turn: make(chan struct{}, 1), done: make(chan struct{})}
	}
	if !q.asking {
		q.asking = true
		q.next.turn <- struct{}{}
	}
	q.next.takers++
	return q.next
}

// ask asks for all who have come, and passes the turn on to those who come meanwhile.
func (q *question) ask(ctx context.Context, s *Store, a *answer) {
	// Whoever is about to ask too, and only waits for a processor, comes along: under load that makes questions fewer. With
	// nobody about it would wake another processor for nothing, which may then go on with this goroutine.
	if q.busy(a) {
		runtime.Gosched()
	}
	q.mu.Lock()
	q.next, q.crowded = nil, a.takers > 1
	q.mu.Unlock()
	a.revision, a.err = s.askRevision(ctx)
	if a.err != nil && ctx.Err() != nil {
		a.err = errAbandoned
	}
	close(a.done)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.asking = q.next != nil
	if q.asking {
		q.next.turn <- struct{}{}
	}
}

// busy says whether others are likely to come for an answer that is about to be asked for.
func (q *question) busy(a *answer) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.crowded || a.takers > 1
}

// etcdTimeout bounds a request that has no caller to give up on it.
const etcdTimeout = 10 * time.Second

// askRevision makes the cheapest linearizable read that there is: the count of a key that cannot exist.
func (s *Store) askRevision(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, etcdTimeout, ErrUnavailable)
	defer cancel()
	resp, err := s.client.Get(ctx, s.prefix+"/", clientv3.WithCountOnly())
	if err != nil {
		return 0, etcdError(ctx, "asking etcd for its revision", err)
	}
	return resp.Header.Revision, nil
}

// WaitForRevision returns when the feed has brought everything up to a revision.
func (s *Store) WaitForRevision(ctx context.Context, revision int64) error {
	return s.feed.wait(ctx, revision)
}

// errTooLate ends a wait for a revision that takes longer than a read may wait.
var errTooLate = errors.New("revision has not come in time")

// waitBriefly waits for a revision as long as a read may.
func (s *Store) waitBriefly(ctx context.Context, revision int64) error {
	if s.feed.reached(revision) {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.options.WaitFor, errTooLate)
	defer cancel()
	return s.feed.wait(ctx, revision)
}

// waitNotOlderThan waits for a revision a client has asked for.
func (s *Store) waitNotOlderThan(ctx context.Context, revision int64) error {
	err := s.waitBriefly(ctx, revision)
	if errors.Is(err, errTooLate) {
		return &FutureRevisionError{Requested: revision, Current: s.feed.current()}
	}
	return err
}

// waitConsistent returns the present revision of etcd. inFeed says that the feed has come to it, so that memory can answer;
// otherwise it is too far behind, or etcd does not tell it its progress.
func (s *Store) waitConsistent(ctx context.Context) (revision int64, inFeed bool, err error) {
	if revision, err = s.CurrentRevision(ctx); err != nil {
		return 0, false, err
	}
	if s.feed.reached(revision) {
		return revision, true, nil
	}
	if s.feed.mute() {
		return revision, false, nil
	}
	err = s.waitBriefly(ctx, revision)
	if errors.Is(err, errTooLate) {
		return revision, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("waiting for revision %d: %w", revision, err)
	}
	return revision, true, nil
}
