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
	// reads ends when an outage begins. Reads of etcd end with it.
	reads context.Context
	end   context.CancelCauseFunc
}

func newOutage() *outage {
	o := &outage{}
	o.reads, o.end = context.WithCancelCause(context.Background())
	return o
}

// err returns an error during an outage.
func (o *outage) err() error {
	if err := o.present.Load(); err != nil {
		return *err
	}
	return nil
}

// begin starts an outage, and ends the reads that wait for etcd. cause is an ErrUnavailable.
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
	o.reads, o.end = context.WithCancelCause(context.Background())
	klog.FromContext(ctx).Info("etcd answers again")
}

// duringReads returns a context that also ends when an outage begins.
func (o *outage) duringReads(ctx context.Context) (context.Context, context.CancelFunc) {
	o.mu.Lock()
	reads := o.reads
	o.mu.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	detach := context.AfterFunc(reads, func() { cancel(context.Cause(reads)) })
	return ctx, func() {
		detach()
		cancel(nil)
	}
}

// slowRequest is the time after which the store asks etcd for its revision, to find out whether etcd answers at all.
const slowRequest = 3 * time.Second

// reading prepares a read of etcd. The read ends when an outage begins. The caller calls done after the read.
func (s *Store) reading(ctx context.Context) (_ context.Context, done func(), err error) {
	finished, err := s.requesting()
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := s.outage.duringReads(ctx)
	return ctx, func() { finished(); cancel() }, nil
}

// requesting prepares a request to etcd. It returns an error during an outage. The caller calls done after the
// request.
func (s *Store) requesting() (done func(), err error) {
	if err := s.outage.err(); err != nil {
		return nil, err
	}
	probe := time.AfterFunc(slowRequest, func() { s.revisions.join(s) })
	return func() { probe.Stop() }, nil
}
