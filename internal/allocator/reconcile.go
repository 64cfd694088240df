package allocator

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/internal/workers"
)

const (
	// firstRetry and lastRetry bound the delays of retries.
	firstRetry = 100 * time.Millisecond
	lastRetry  = 10 * time.Minute
	// concurrency is how many claims are looked at at a time.
	concurrency = 8
)

// Run reconciles all claims, and then those in doubt, until ctx is done. It may be called once.
func (s *Services) Run(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() { workers.Run(s.doubts, concurrency, func(c claim) { s.process(ctx, c) }) })
	err := wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		err := s.reconcile(ctx)
		if err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "No Service gets an address before the addresses in use are known, will retry")
		}
		return err == nil, nil
	})
	if err == nil {
		close(s.reconciled)
	}
	<-ctx.Done()
	s.doubts.ShutDown()
	running.Wait()
}

// ready waits until the claims agree with the Services that were stored before the start.
func (s *Services) ready(ctx context.Context) error {
	select {
	case <-s.reconciled:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// settle makes claims agree with their Services. Those that it cannot decide now stay, and are decided later.
func (s *Services) settle(ctx context.Context, all []claim) {
	for _, c := range all {
		has, err := c.agree(ctx)
		switch {
		case err != nil:
			klog.FromContext(ctx).V(1).Info("A claim of a Service is in doubt", "err", err)
			s.doubts.AddRateLimited(c)
		case has: // etcd may still carry out the write that gives it up
			s.doubts.AddAfter(c, s.grace)
		}
	}
}

// process looks at a claim in doubt, and decides whether that is repeated.
func (s *Services) process(ctx context.Context, c claim) {
	if _, err := c.agree(ctx); err != nil && ctx.Err() == nil {
		workers.LogFailure(ctx, err, "A claim of a Service stays in doubt, will retry")
		s.doubts.AddRateLimited(c)
		return
	}
	s.doubts.Forget(c)
}

// reconcile creates the claims that stored Services lack, and queues those that no Service has. The claims are read
// before the Services: a Service that is stored in between has its claims.
func (s *Services) reconcile(ctx context.Context) error {
	held := map[item]owner{}
	for _, c := range []*claims{s.addresses, s.ports} {
		if err := c.addTo(ctx, held); err != nil {
			return err
		}
	}
	needed := map[item]claim{}
	if err := s.services.each(ctx, func(service *corev1.Service) {
		for _, c := range s.claimsOf(service) {
			first, twice := needed[c.item]
			if !twice || held[c.item] == c.owner {
				needed[c.item] = c
			}
			if twice {
				klog.FromContext(ctx).Info("Two Services have the same address or node port; please create one of them again",
					"is", c.name, "services", []string{first.service(), c.service()})
			}
		}
	}); err != nil {
		return err
	}
	var group errgroup.Group
	group.SetLimit(concurrency)
	for i, c := range needed {
		holder, isHeld := held[i]
		delete(held, i)
		if isHeld && holder == c.owner {
			continue
		}
		group.Go(func() error {
			if isHeld {
				s.settle(ctx, []claim{{i, holder}})
			}
			_, err := c.agree(ctx)
			return err
		})
	}
	for i, holder := range held {
		s.doubts.AddAfter(claim{i, holder}, s.grace)
	}
	return group.Wait()
}
