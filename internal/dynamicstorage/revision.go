package dynamicstorage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// revisionBatcher shares requests for etcd's revision among the readers that wait for one. An answer is only good for
// the readers that came before its request was sent: it may miss what was written since. So at most one request is in
// flight, and all readers that come meanwhile share the next one.
type revisionBatcher struct {
	// mu guards the fields below.
	mu sync.Mutex
	// asking: the goroutine that sends requests runs.
	asking bool
	// next is the request that has not been sent yet; nil if no reader waits for one.
	next *revisionRequest
}

type revisionRequest struct {
	done     chan struct{} // closed when the fields below are set
	revision int64
	err      error
}

// CurrentRevision returns the revision that etcd had at some moment during the call.
func (s *Store) CurrentRevision(ctx context.Context) (int64, error) {
	if err := s.outage.err(); err != nil {
		return 0, err
	}
	request := s.revisions.join(s)
	select {
	case <-request.done:
		return request.revision, request.err
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	case <-s.background.Done():
		return 0, ErrClosed
	}
}

// join returns the next request, and starts the goroutine that sends it if none runs.
func (b *revisionBatcher) join(s *Store) *revisionRequest {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == nil {
		b.next = &revisionRequest{done: make(chan struct{})}
	}
	if !b.asking {
		b.asking = s.spawn(func() { b.run(s) })
	}
	return b.next
}

// run sends requests until no reader waits.
func (b *revisionBatcher) run(s *Store) {
	for request := b.take(); request != nil; request = b.take() {
		request.revision, request.err = s.askRevision(s.background)
		close(request.done)
	}
}

// take returns the request to send; nil if there is none.
func (b *revisionBatcher) take() *revisionRequest {
	b.mu.Lock()
	defer b.mu.Unlock()
	request := b.next
	b.next, b.asking = nil, request != nil
	return request
}

// etcdTimeout bounds requests that have no caller with a deadline.
const etcdTimeout = 10 * time.Second

// askAttempts is the number of attempts to get etcd's revision before etcd counts as unavailable. Each goes to another
// member.
const askAttempts = 3

// askRevision returns the revision of etcd. During an outage it leaves asking to the feed.
func (s *Store) askRevision(ctx context.Context) (int64, error) {
	if err := s.outage.err(); err != nil {
		return 0, err
	}
	known := s.feed.current()
	header, err := s.ask(ctx)
	if err != nil {
		if errors.Is(err, ErrUnavailable) {
			s.feed.suspect()
		}
		return 0, err
	}
	s.examine(header, known)
	return header.Revision, nil
}

// examine makes the feed suspicious if a response shows that etcd was replaced or has gone back.
func (s *Store) examine(header *pb.ResponseHeader, known int64) {
	if s.feed.examine(header, known) != nil {
		s.feed.suspect()
	}
}

// ask makes the cheapest linearizable read: the count of a key that cannot exist. An outage begins if etcd does not
// answer, and is over if it does.
func (s *Store) ask(ctx context.Context) (*pb.ResponseHeader, error) {
	var err error
	for range askAttempts {
		var resp *clientv3.GetResponse
		if resp, err = s.askOnce(ctx); err == nil {
			s.outage.over(ctx)
			return resp.Header, nil
		}
		if ctx.Err() != nil || !errors.Is(err, ErrUnavailable) {
			return nil, err
		}
	}
	s.outage.begin(ctx, err)
	return nil, err
}

func (s *Store) askOnce(ctx context.Context) (*clientv3.GetResponse, error) {
	brief, cancel := context.WithTimeout(ctx, s.options.AskFor)
	defer cancel()
	resp, err := s.client.Get(brief, s.prefix+"/", clientv3.WithCountOnly())
	if err != nil && ctx.Err() == nil && brief.Err() != nil {
		return nil, fmt.Errorf("%w: no answer within %v", ErrUnavailable, askAttempts*s.options.AskFor)
	}
	return resp, etcdError(ctx, "asking etcd for its revision", err)
}

// WaitForRevision waits until the cache has everything up to a revision.
func (s *Store) WaitForRevision(ctx context.Context, revision int64) error {
	return s.feed.wait(ctx, func() bool { return s.feed.reached(revision) })
}

// errWaitTimeout ends a wait for a revision that takes longer than Options.WaitFor.
var errWaitTimeout = errors.New("timed out waiting for the revision")

// waitBriefly waits until a condition of the feed holds, no longer than Options.WaitFor.
func (s *Store) waitBriefly(ctx context.Context, holds func() bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.options.WaitFor, errWaitTimeout)
	defer cancel()
	return s.feed.wait(ctx, holds)
}

// waitNotOlderThan waits for a revision that a client has asked for.
func (s *Store) waitNotOlderThan(ctx context.Context, revision int64) error {
	if s.feed.reached(revision) {
		return nil
	}
	if err := s.outage.err(); err != nil {
		return err
	}
	err := s.waitBriefly(ctx, func() bool { return s.feed.reached(revision) })
	if errors.Is(err, errWaitTimeout) {
		return cmp.Or(s.outage.err(), error(&FutureRevisionError{Requested: revision, Current: s.feed.current()}))
	}
	return err
}

// waitConsistent returns the present revision of etcd. reached reports whether the feed has reached it, so that the
// cache can answer; otherwise the feed is too far behind, or etcd does not report its progress.
func (s *Store) waitConsistent(ctx context.Context) (revision int64, reached bool, err error) {
	if revision, err = s.CurrentRevision(ctx); err != nil {
		return 0, false, err
	}
	if s.feed.follows(revision) {
		return revision, true, nil
	}
	if s.feed.silent.Load() {
		return revision, false, nil
	}
	err = s.waitBriefly(ctx, func() bool { return s.feed.follows(revision) })
	if errors.Is(err, errWaitTimeout) {
		return revision, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("waiting for revision %d: %w", revision, err)
	}
	return revision, true, nil
}
