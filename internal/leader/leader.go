package leader

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

// Times of the election. A leader that dies is replaced after leaseDuration, which is a third of
// kube-controller-manager's: garbage and namespaces wait for a leader. The price is one write a second. A leader whose
// process was paused for longer stops at its next renewal.
const (
	leaseDuration = 5 * time.Second
	renewDeadline = 3 * time.Second
	retryPeriod   = time.Second
)

// NewLock returns a lock by a Lease, which this process holds under a name of its own.
func NewLock(client *rest.Config, namespace, name string) (resourcelock.Interface, error) {
	leases, err := coordination.NewForConfig(client)
	if err != nil {
		return nil, fmt.Errorf("client of leases: %w", err)
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("name of the host: %w", err)
	}
	return &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: name},
		Client:     leases,
		LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + uuid.NewString()},
	}, nil
}

// Run calls f each time this process becomes the leader, until ctx is done. The context of f ends with ctx, and when
// the process stops being the leader. At the end Run waits for f before it gives the lock up, so that the next leader
// does not begin before.
func Run(ctx context.Context, lock resourcelock.Interface, f func(ctx context.Context)) error {
	for ctx.Err() == nil {
		if err := runOnce(ctx, lock, f); err != nil {
			return err
		}
	}
	return nil
}

// runOnce takes part in the election until this process was the leader once, or ctx is done.
func runOnce(ctx context.Context, lock resourcelock.Interface, f func(ctx context.Context)) error {
	electing, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	leads := make(chan context.Context, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod,
		ReleaseOnCancel: true, Name: lock.Describe(),
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) { leads <- leading },
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return fmt.Errorf("leader election: %w", err)
	}
	ended := make(chan struct{})
	go func() { // ends with electing, or when the lock is lost
		defer close(ended)
		elector.Run(electing)
	}()
	select {
	case leading := <-leads:
		lead(ctx, leading, f)
	case <-ctx.Done():
	}
	stop()
	<-ended
	return nil
}

// lead calls f until ctx is done or leading is.
func lead(ctx, leading context.Context, f func(ctx context.Context)) {
	working, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(leading, cancel)()
	klog.FromContext(ctx).V(1).Info("This replica leads")
	f(working)
	<-working.Done() // f may have ended by itself; its work must not begin again
}
