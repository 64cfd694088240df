package dynamicstorage

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
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

// request calls etcd. The call ends when an outage begins, and fails during one. doing describes it in errors.
func request[T any](
	ctx context.Context, s *Store, doing string, call func(ctx context.Context) (T, error),
) (answer T, err error) {
	if err := s.outage.err(); err != nil {
		return answer, fmt.Errorf("%s: %w", doing, err)
	}
	probe := time.AfterFunc(slowRequest, func() { s.revisions.join(s) })
	defer probe.Stop()
	ctx, cancel := s.outage.whileAnswering(ctx)
	defer cancel()
	answer, err = call(ctx)
	return answer, etcdError(ctx, doing, err)
}

// transact commits a transaction that writes. Its error is an ErrUnconfirmed if etcd may have carried it out.
func (s *Store) transact(
	ctx context.Context, conditions []clientv3.Cmp, then []clientv3.Op, otherwise ...clientv3.Op,
) (*clientv3.TxnResponse, error) {
	called := false
	resp, err := request(ctx, s, "writing to etcd", func(ctx context.Context) (*clientv3.TxnResponse, error) {
		called = true
		return s.client.Txn(ctx).If(conditions...).Then(then...).Else(otherwise...).Commit()
	})
	if called && errors.Is(err, ErrUnavailable) {
		err = fmt.Errorf("%w: %w", err, ErrUnconfirmed)
	}
	return resp, err
}

// get reads a key or a range. It makes the feed suspicious if the answer shows that etcd was replaced or has gone back.
func (s *Store) get(ctx context.Context, key string, options ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	known := s.feed.current()
	resp, err := request(ctx, s, "reading from etcd", func(ctx context.Context) (*clientv3.GetResponse, error) {
		return s.client.Get(ctx, key, options...)
	})
	if err != nil {
		return nil, err
	}
	s.examine(resp.Header, known)
	return resp, nil
}
