package dynamicstorage

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// question asks etcd for its revision. An answer is good for all who came before it was asked for, so at
// most one is on its way, and everybody who comes meanwhile shares the next.
type question struct {
	// mu guards the fields below.
	mu     sync.Mutex
	asking bool
	next   *answer // nobody has asked etcd for it yet; nil if nobody waits for it
}

type answer struct {
	done     chan struct{} // closed when the fields below are set
	revision int64
	err      error
}

// CurrentRevision returns the revision of etcd, at some moment between the call and its return.
func (s *Store) CurrentRevision(ctx context.Context) (int64, error) {
	a, err := s.question.join(s)
	if err != nil {
		return 0, err
	}
	select {
	case <-a.done:
		return a.revision, a.err
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// join returns the next answer, and sees to it that it will be asked for.
func (q *question) join(s *Store) (*answer, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.next == nil {
		q.next = &answer{done: make(chan struct{})}
	}
	a := q.next
	if !q.asking {
		if !s.spawn(func() { q.ask(s) }) {
			return nil, ErrClosed
		}
		q.asking = true
	}
	return a, nil
}

// ask gets answers as long as somebody waits for one.
func (q *question) ask(s *Store) {
	for {
		q.mu.Lock()
		a := q.next
		q.next = nil
		q.asking = a != nil
		q.mu.Unlock()
		if a == nil {
			return
		}
		a.revision, a.err = s.askRevision(s.background)
		close(a.done)
	}
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
