package server

import (
	"cmp"
	"context"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// inBackground runs a function in a group, unless it is nil. stop ends it, and returns when it has returned.
func inBackground(group *errgroup.Group, working context.Context, run func(ctx context.Context) error) (stop func()) {
	if run == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(working)
	ended := make(chan struct{})
	group.Go(func() error {
		defer close(ended)
		return run(ctx)
	})
	return func() { cancel(); <-ended }
}

// closeTimeout is how long a stopping server that acts as kube-apiserver, and whose requests have ended, waits for
// clients to close their connections. With HTTP/2 they do not do so before a second is over, and tests stop many such
// servers. Others wait, because the network may still carry a response whose handler has returned.
const closeTimeout = 50 * time.Millisecond

// stopServing drains the server, which is unready: it takes no new requests, and waits until those in flight have ended
// or have timed out.
func (s *server) stopServing(working context.Context, web *http.Server) {
	delay := time.NewTimer(s.options.Requests.ShutdownDelay)
	defer delay.Stop()
	select {
	case <-delay.C:
	case <-working.Done(): // something has failed: requests cannot be served any more
	}
	ended := s.drain.End()
	timeout := cmp.Or(s.options.Requests.ShutdownTimeout, s.options.Requests.Timeout)
	var closing sync.WaitGroup
	defer closing.Wait() // after cancel
	ctx, cancel := context.WithTimeout(working, timeout)
	defer cancel()
	if s.options.KubeAPIServer {
		closing.Go(func() { closeAfter(ctx, ended, closeTimeout, cancel) })
	}
	_ = web.Shutdown(ctx) // fails when the time is over; the caller closes the remaining connections
}

// closeAfter calls cancel when a time has passed since the last request in flight has ended, because clients may keep
// their connections. It returns when ctx is done.
func closeAfter(ctx context.Context, ended <-chan struct{}, wait time.Duration, cancel context.CancelFunc) {
	select {
	case <-ended:
	case <-ctx.Done():
		return
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		cancel()
	case <-ctx.Done():
	}
}
