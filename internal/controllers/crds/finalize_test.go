package crds

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// terminatingStates returns the successive conditions Terminating of a CRD, as a watcher of etcd sees them.
func terminatingStates(t *testing.T, name string) []string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	key := etcd.Prefix(t) + "/" + crds.GroupName + "/" + crds.Plural + "/" + name
	first, err := etcd.Client.Get(ctx, etcd.Prefix(t)+"/first")
	if err != nil || len(first.Kvs) == 0 {
		t.Fatal("cannot read the first revision", err)
	}
	last, err := etcd.Client.Put(ctx, etcd.Prefix(t)+"/last", "")
	if err != nil {
		t.Fatal(err)
	}
	var states []string
	for revision := first.Kvs[0].ModRevision; revision < last.Header.Revision; revision++ {
		got, err := etcd.Client.Get(ctx, key, clientv3.WithRev(revision))
		if err != nil {
			t.Fatal(err)
		}
		state := "gone"
		if len(got.Kvs) > 0 {
			internal, err := crds.DecodeDefinition(got.Kvs[0].Value, revision)
			if err != nil {
				t.Fatal(err)
			}
			crd, err := crds.ToV1(internal)
			if err != nil {
				t.Fatal(err)
			}
			state = conditionOf(crd, apiextensionsv1.Terminating)
		}
		if len(states) == 0 || states[len(states)-1] != state {
			states = append(states, state)
		}
	}
	return states
}

const (
	pending = "True InstanceDeletionPending: CustomResourceDefinition marked for deletion; CustomResource deletion " +
		"will begin soon"
	inProgress = "True InstanceDeletionInProgress: CustomResource deletion is in progress"
)

func TestFinalize(t *testing.T) {
	t.Parallel()
	failure := errors.New("boom")
	for name, tc := range map[string]struct {
		crd *apiextensionsv1.CustomResourceDefinition
		// answers are the successive results of DeleteInstances. The last one is repeated.
		answers []any
		want    []string
	}{
		"empty":         {answers: []any{0}, want: []string{"", pending, inProgress, "gone"}},
		"some go later": {answers: []any{3, 2, 0}, want: []string{"", pending, inProgress, "gone"}},
		"failure": {answers: []any{failure, 0},
			want: []string{"", pending, inProgress, "True InstanceDeletionFailed: could not issue all deletes: boom", "gone"}},
		"no list": {answers: []any{&crds.ListError{Err: failure}, failure, 0},
			want: []string{"", pending, inProgress, "True InstanceDeletionFailed: could not list instances: boom",
				"True InstanceDeletionFailed: could not issue all deletes: boom", "gone"}},
		"built in": {crd: definitionNamed("apiservices", "apiregistration.k8s.io", "APIService"),
			want: []string{"", pending, "gone"}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := etcd.Client.Put(t.Context(), etcd.Prefix(t)+"/first", ""); err != nil {
				t.Fatal(err)
			}
			var calls atomic.Int32
			r := startReplica(t, replicaOptions{deleteInstances: func(_ context.Context, record *crds.Record) (int, error) {
				answer := tc.answers[min(int(calls.Add(1)), len(tc.answers))-1]
				if err, failed := answer.(error); failed {
					return 0, err
				}
				return answer.(int), nil
			}})
			crd := tc.crd
			if crd == nil {
				crd = definitionNamed("widgets", "example.com", "Widget")
			}
			r.write(crd)
			r.reconcile(crd.Name)
			r.delete(crd.Name)
			r.until("it is gone", func() bool { return r.shown(crd.Name) == nil })
			states := terminatingStates(t, crd.Name)
			if states[0] == "gone" {
				states = states[1:]
			}
			if !slices.Equal(states, tc.want) {
				t.Errorf("Terminating was\n%q, want\n%q", states, tc.want)
			}
			if int(calls.Load()) != len(tc.answers) {
				t.Errorf("%d calls, want %d", calls.Load(), len(tc.answers))
			}
		})
	}
}

func TestNeverEstablished(t *testing.T) {
	t.Parallel()
	r := startReplica(t, replicaOptions{deleteInstances: func(context.Context, *crds.Record) (int, error) {
		t.Error("instances were deleted")
		return 0, nil
	}})
	first, second := definitionNamed("firsts", "example.com", "Thing"), definitionNamed("seconds", "example.com", "Thing")
	second.Finalizers = []string{"example.com/hold"}
	for _, crd := range []*apiextensionsv1.CustomResourceDefinition{first, second} {
		r.write(crd)
		r.reconcile(crd.Name)
	}
	r.delete(second.Name)
	r.until("our finalizer is gone", func() bool {
		return !r.shown(second.Name).HasFinalizer(apiextensionsv1.CustomResourceCleanupFinalizer)
	})
	got := r.read(second.Name)
	if c := conditionOf(got, apiextensionsv1.Terminating); c != "False NeverEstablished: resource was never established" {
		t.Errorf("Terminating: %s", c)
	}
	if !slices.Equal(got.Finalizers, second.Finalizers) {
		t.Errorf("finalizers: %v", got.Finalizers)
	}
}

// deleteHeld deletes a CRD that has another finalizer, and waits until ours is removed.
func (r *replica) deleteHeld() *apiextensionsv1.CustomResourceDefinition {
	r.t.Helper()
	crd := definitionNamed("widgets", "example.com", "Widget")
	crd.Finalizers = []string{"example.com/hold"}
	r.write(crd)
	r.reconcile(crd.Name)
	r.delete(crd.Name)
	r.until("our finalizer is gone", func() bool {
		return !r.shown(crd.Name).HasFinalizer(apiextensionsv1.CustomResourceCleanupFinalizer)
	})
	return crd
}

func TestOtherFinalizersAreKept(t *testing.T) {
	t.Parallel()
	r := startReplica(t, replicaOptions{})
	crd := r.deleteHeld()
	if c := conditionOf(r.read(crd.Name),
		apiextensionsv1.Terminating); c != "False InstanceDeletionCompleted: removed all instances" {
		t.Errorf("Terminating: %s", c)
	}
	if record := r.shown(crd.Name); !record.Terminating || !record.Established {
		t.Errorf("%+v", record)
	}
}

// TestClockSetBack checks that a deletion does not wait when the clock is set back.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	r := startReplica(t, replicaOptions{clock: testingclock.NewFakePassiveClock(now.Add(-time.Hour))})
	r.deleteHeld()
}

// TestRemainingTimeout checks that a CRD whose custom resources remain has a condition with this fact after a minute,
// and does not delay other CRDs.
func TestRemainingTimeout(t *testing.T) {
	t.Parallel()
	clock := testingclock.NewFakePassiveClock(now)
	var mu sync.Mutex // guards stuck and tries
	stuck, tries := true, map[string]int{}
	tried := make(chan string, 6) // on the second call, after remainingTimeout has started
	r := startReplica(t, replicaOptions{clock: clock,
		deleteInstances: func(_ context.Context, record *crds.Record) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			if stuck && record.Names.Kind != "Free" {
				if tries[record.Name]++; tries[record.Name] == 2 {
					tried <- record.Name
				}
				return 1, nil
			}
			return 0, nil
		}})
	var held []string
	for _, kind := range []string{"A", "B", "C", "D", "E", "F", "Free"} {
		crd := definitionNamed("x"+kind+"s", "example.com", kind)
		held = append(held, crd.Name)
		r.write(crd)
		r.reconcile(crd.Name)
		r.delete(crd.Name)
	}
	r.until("the free one is gone", func() bool { return r.shown(held[6]) == nil })
	for range held[:6] {
		<-tried
	}
	clock.SetTime(now.Add(remainingTimeout))
	check := "True InstanceDeletionCheck: could not confirm zero CustomResources remaining: context deadline exceeded"
	for _, name := range held[:6] {
		r.until("the condition says what remains",
			func() bool { return conditionOf(r.read(name), apiextensionsv1.Terminating) == check })
	}
	mu.Lock()
	stuck = false
	mu.Unlock()
	for _, name := range held {
		r.until("all are gone", func() bool { return r.shown(name) == nil })
	}
}

func TestReleaseEndsWatches(t *testing.T) {
	t.Parallel()
	r := startReplica(t, replicaOptions{})
	crd := definitionNamed("widgets", "example.com", "Widget")
	r.write(crd)
	r.reconcile(crd.Name)
	revision, err := r.store.CurrentRevision(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	watcher, err := r.store.Resource("example.com", "widgets").Watch(t.Context(), revision)
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Close()
	r.delete(crd.Name)
	if _, err := watcher.Next(t.Context()); !errors.Is(err, dynamicstorage.ErrClosed) {
		t.Errorf("the watch ended with %v", err)
	}
}

// TestTwoReplicasFinalize checks that two replicas may finalize the same CRD.
func TestTwoReplicasFinalize(t *testing.T) {
	t.Parallel()
	var left atomic.Int32
	left.Store(4)
	options := replicaOptions{deleteInstances: func(context.Context, *crds.Record) (int, error) {
		return int(max(left.Add(-1), 0)), nil
	}}
	a, b := startReplica(t, options), startReplica(t, options)
	crd := definitionNamed("widgets", "example.com", "Widget")
	a.write(crd)
	b.reconcile(crd.Name)
	a.delete(crd.Name)
	for _, r := range []*replica{a, b} {
		r.until("it is gone", func() bool { return r.shown(crd.Name) == nil })
	}
	// It can be created again.
	crd = definitionNamed("widgets", "example.com", "Widget")
	b.write(crd)
	b.reconcile(crd.Name)
	if record := b.shown(crd.Name); record.UID != crd.UID || record.Terminating || !record.Established {
		t.Errorf("%+v", record)
	}
}
