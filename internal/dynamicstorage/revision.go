package dynamicstorage

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// revisionBatcher shares requests for etcd's revision among the readers that wait for one. An answer is only good for the
// readers that came before its request was sent: it may miss what was written since. So at most one request is in flight,
// and all readers that come meanwhile share the next one.
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

// askRevision makes the cheapest linearizable read: the count of a key that cannot exist.
func (s *Store) askRevision(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, etcdTimeout, ErrUnavailable)
	defer cancel()
	resp, err := s.client.Get(ctx, s.prefix+"/", clientv3.WithCountOnly())
	if err != nil {
		return 0, etcdError(ctx, "asking etcd for its revision", err)
	}
	return resp.Header.Revision, nil
}

// WaitForRevision waits until the cache has everything up to a revision.
func (s *Store) WaitForRevision(ctx context.Context, revision int64) error {
	return s.feed.wait(ctx, revision)
}

// errWaitTimeout ends a wait for a revision that takes longer than Options.WaitFor.
var errWaitTimeout = errors.New("timed out waiting for the revision")

// waitBriefly waits for a revision no longer than Options.WaitFor.
func (s *Store) waitBriefly(ctx context.Context, revision int64) error {
	if s.feed.reached(revision) {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.options.WaitFor, errWaitTimeout)
	defer cancel()
	return s.feed.wait(ctx, revision)
}

// waitNotOlderThan waits for a revision that a client has asked for.
func (s *Store) waitNotOlderThan(ctx context.Context, revision int64) error {
	err := s.waitBriefly(ctx, revision)
	if errors.Is(err, errWaitTimeout) {
		return &FutureRevisionError{Requested: revision, Current: s.feed.current()}
	}
	return err
}

// waitConsistent returns the present revision of etcd. reached reports whether the feed has reached it, so that the cache can
// answer; otherwise the feed is too far behind, or etcd does not report its progress.
func (s *Store) waitConsistent(ctx context.Context) (revision int64, reached bool, err error) {
	if revision, err = s.CurrentRevision(ctx); err != nil {
		return 0, false, err
	}
	if s.feed.reached(revision) {
		return revision, true, nil
	}
	if s.feed.silent.Load() {
		return revision, false, nil
	}
	err = s.waitBriefly(ctx, revision)
	if errors.Is(err, errWaitTimeout) {
		return revision, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("waiting for revision %d: %w", revision, err)
	}
	return revision, true, nil
}
