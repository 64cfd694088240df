package dynamicstorage

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"
)

// outage is what the store knows about the availability of etcd. A request for etcd's revision that fails begins an
// outage, one that succeeds ends it. During an outage, the store refuses at once what needs etcd, and only the feed
// asks etcd.
type outage struct {
	// present is the error of everything that needs etcd; nil while etcd answers.
	present atomic.Pointer[error]

	// mu guards the fields below.
	mu sync.Mutex
	// answering ends when an outage begins. Requests to etcd end with it.
	answering context.Context
	end       context.CancelCauseFunc
}

func newOutage() *outage {
	o := &outage{}
	o.answering, o.end = context.WithCancelCause(context.Background())
	return o
}

// err returns an error during an outage.
func (o *outage) err() error {
	if err := o.present.Load(); err != nil {
		return *err
	}
	return nil
}

// begin starts an outage, and ends the requests that wait for etcd. cause is an ErrUnavailable.
func (o *outage) begin(ctx context.Context, cause error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.present.Swap(&cause) == nil {
		klog.FromContext(ctx).Error(cause, "etcd does not answer, refusing requests that need it")
		o.end(cause)
	}
}

// over ends an outage.
func (o *outage) over(ctx context.Context) {
	if o.present.Load() == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.present.Swap(nil) == nil {
		return
	}
	o.answering, o.end = context.WithCancelCause(context.Background())
	klog.FromContext(ctx).Info("etcd answers again")
}

// whileAnswering returns a context that also ends when an outage begins.
func (o *outage) whileAnswering(ctx context.Context) (context.Context, context.CancelFunc) {
	o.mu.Lock()
	answering := o.answering
	o.mu.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	detach := context.AfterFunc(answering, func() { cancel(context.Cause(answering)) })
	return ctx, func() {
		detach()
		cancel(nil)
	}
}

// slowRequest is the time after which the store asks etcd for its revision, to find out whether etcd answers at all.
const slowRequest = 3 * time.Second

// requesting prepares a request to etcd, which ends when an outage begins. It returns an error during an outage. The
// caller calls done after the request.
func (s *Store) requesting(ctx context.Context) (_ context.Context, done func(), err error) {
	if err := s.outage.err(); err != nil {
		return nil, nil, err
	}
	probe := time.AfterFunc(slowRequest, func() { s.revisions.join(s) })
	ctx, cancel := s.outage.whileAnswering(ctx)
	return ctx, func() { probe.Stop(); cancel() }, nil
}
