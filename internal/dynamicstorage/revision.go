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
// its way, and everybody who comes meanwhile shares the next. A goroutine asks, which stands by from the first time on until
// the store ends: the stack of a request has no room for the client of etcd as well, and to make room there takes half as long
// as the question; in a goroutine that has just begun, a quarter.
type question struct {
	// mu guards the fields below.
	mu sync.Mutex
	// come has an element when the goroutine is to ask; nil before the first time.
	come chan struct{}
	// asking: it asks, or has been called to.
	asking bool
	next   *answer // nobody has asked etcd for it yet; nil if nobody has come for it
	// crowded: more than one came for the last answer that was asked for.
	crowded bool
}

type answer struct {
	takers   int           // how many have come for it; guarded by the question's mu
	done     chan struct{} // closed when the fields below are set
	revision int64
	err      error
}

// CurrentRevision returns the revision of etcd, at some moment between the call and its return.
func (s *Store) CurrentRevision(ctx context.Context) (int64, error) {
	a := s.question.join(s)
	select {
	case <-a.done:
		return a.revision, a.err
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	case <-s.background.Done():
		return 0, ErrClosed
	}
}

// join returns the next answer, and has somebody ask for it.
func (q *question) join(s *Store) *answer {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.next == nil {
		q.next = &answer{done: make(chan struct{})}
	}
	q.next.takers++
	if q.come == nil {
		q.come = make(chan struct{}, 1)
		s.spawn(func() { q.stand(s) }) // false: the store has stopped, and nobody waits for long
	}
	if !q.asking {
		q.asking = true
		q.come <- struct{}{}
	}
	return q.next
}

// stand asks whenever somebody has come.
func (q *question) stand(s *Store) {
	for {
		select {
		case <-q.come:
			q.ask(s)
		case <-s.background.Done():
			return
		}
	}
}

// ask asks for all who have come, until nobody has come meanwhile.
func (q *question) ask(s *Store) {
	for a := q.take(); a != nil; a = q.take() {
		a.revision, a.err = s.askRevision(s.background)
		close(a.done)
	}
}

// take returns the answer that is to be asked for; nil, and the end of asking, if nobody waits for one.
func (q *question) take() *answer {
	// Whoever is about to come, and only waits for a processor, comes along: under load that makes questions fewer. With
	// nobody about it would wake another processor for nothing, which may then go on with this goroutine.
	if q.busy() {
		runtime.Gosched()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	a := q.next
	if q.next, q.asking = nil, a != nil; q.asking {
		q.crowded = a.takers > 1
	}
	return a
}

// busy says whether others are likely to come for the answer that is to be asked for.
func (q *question) busy() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.next != nil && (q.crowded || q.next.takers > 1)
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
