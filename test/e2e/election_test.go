package e2e

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/test/process"
)

const (
	// leaseName is the Lease of elections.
	leaseName = "leader"
	// A candidate takes over when it has seen no change of the Lease for leaseDuration. client-go compares Leases by the
	// second, so the last renewal may be up to a second later than the change that the candidate has seen.
	leaseDuration = 2 * time.Second
	// A leader gives up when it could not renew the Lease for renewDeadline, which is before another one takes over.
	renewDeadline = 3 * leaseDuration / 8
	retryPeriod   = 100 * time.Millisecond
)

// TestElection lets candidates of client-go elect a leader while the leader or a server dies.
func TestElection(t *testing.T) {
	t.Parallel()
	t.Run("leader dies", func(t *testing.T) {
		t.Parallel()
		config := adminConfig(t, run(t))
		die := stand(t, config, "a")
		awaitLeader(t, config, "a")
		stand(t, config, "b")
		die()
		awaitLeader(t, config, "b")
		checkTerms(t, config)
	})
	t.Run("server dies", func(t *testing.T) {
		t.Parallel()
		options := process.Options{DataDir: filepath.Join(t.TempDir(), "data")}
		server := start(t, options)
		config := adminConfig(t, server)
		stand(t, config, "a")
		before := awaitLeader(t, config, "a")
		stand(t, config, "b")
		if err := server.Kill(); err != nil {
			t.Fatal(err)
		}
		options.Port = server.Port()
		start(t, options)
		awaitLease(t, config, "renewed after the restart", func(lease *coordinationv1.Lease) bool {
			return lease.Spec.RenewTime.After(before.Spec.RenewTime.Time)
		})
		checkTerms(t, config)
	})
	t.Run("replicas die", func(t *testing.T) {
		t.Parallel()
		r := startReplicas(t, 1, 2)
		first, second := adminConfig(t, r.servers[0]), adminConfig(t, r.servers[1])
		stand(t, first, "a")
		awaitLeader(t, second, "a")
		stand(t, second, "b")
		r.kill(0)
		awaitLeader(t, second, "b")
		r.servers[0] = start(t, r.options[0])
		r.kill(1)
		awaitLeader(t, first, "a")
		checkTerms(t, first)
	})
}

// stand starts a candidate. It stands again when it has lost the Lease, and ends with the test or with die, which does
// not give the Lease back.
func stand(t *testing.T, config *rest.Config, name string) (die func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), logr.Discard()))
	elector := leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: leaseName},
			Client:     clientset(t, config).CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: name},
		},
		LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) {}, OnStoppedLeading: func() {}},
	}
	ended := make(chan struct{})
	go func() { // ends with ctx
		defer close(ended)
		for ctx.Err() == nil {
			leaderelection.RunOrDie(ctx, elector)
		}
	}()
	die = func() {
		cancel()
		<-ended
	}
	t.Cleanup(die)
	return die
}

// clientset returns a client that sends and accepts protobuf, as controllers do.
func clientset(t *testing.T, config *rest.Config) kubernetes.Interface {
	t.Helper()
	config = rest.CopyConfig(config)
	config.ContentType = runtime.ContentTypeProtobuf
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func awaitLeader(t *testing.T, config *rest.Config, name string) *coordinationv1.Lease {
	t.Helper()
	return awaitLease(t, config, name+" leads", func(lease *coordinationv1.Lease) bool {
		return *lease.Spec.HolderIdentity == name
	})
}

// awaitLease waits until the Lease meets a condition, and returns it.
func awaitLease(t *testing.T, config *rest.Config, what string,
	condition func(*coordinationv1.Lease) bool) *coordinationv1.Lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	leases := clientset(t, config).CoordinationV1().Leases(metav1.NamespaceDefault)
	var lease *coordinationv1.Lease
	await(t, ctx, what, func() (met bool) {
		var err error
		lease, err = leases.Get(ctx, leaseName, metav1.GetOptions{})
		return err == nil && condition(lease)
	})
	return lease
}

// checkTerms checks every version of the Lease so far: it has one holder at a time, because another one follows only
// when the Lease has expired.
func checkTerms(t *testing.T, config *rest.Config) {
	t.Helper()
	leases := clientset(t, config).CoordinationV1().Leases(metav1.NamespaceDefault)
	newest, err := leases.Get(t.Context(), leaseName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	watcher, err := leases.Watch(t.Context(), metav1.ListOptions{
		ResourceVersion: "1", FieldSelector: fields.OneTermEqualSelector("metadata.name", leaseName).String(),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Stop()
	var last *coordinationv1.Lease
	for event := range watcher.ResultChan() {
		lease, ok := event.Object.(*coordinationv1.Lease)
		if !ok {
			t.Fatalf("unexpected event %v", event)
		}
		if last != nil {
			checkTerm(t, &last.Spec, &lease.Spec)
		}
		if last = lease; lease.ResourceVersion == newest.ResourceVersion {
			return
		}
	}
	t.Error("the watch ended early")
}

func checkTerm(t *testing.T, last, next *coordinationv1.LeaseSpec) {
	t.Helper()
	if *next.HolderIdentity == *last.HolderIdentity {
		if *next.LeaseTransitions != *last.LeaseTransitions || !next.AcquireTime.Equal(last.AcquireTime) {
			t.Errorf("the same term is %v, and then %v", last, next)
		}
		return
	}
	if *next.LeaseTransitions != *last.LeaseTransitions+1 {
		t.Errorf("term %d after %d", *next.LeaseTransitions, *last.LeaseTransitions)
	}
	if free := last.RenewTime.Add(leaseDuration - time.Second); next.AcquireTime.Time.Before(free) {
		t.Errorf("%s took over at %v, although the leader may lead until %v", *next.HolderIdentity, next.AcquireTime, free)
	}
}
