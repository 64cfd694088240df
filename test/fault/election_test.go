package fault

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

const (
	// leaseTime is how long a candidate waits after the last change of the Lease that it has seen. client-go compares
	// leases by the second, so the last renewal may be up to a second later than that change.
	leaseTime = 2 * time.Second
	// A leader gives up leadingTime after the renewal that succeeded last, which must be before the other one leads.
	leadingTime   = renewDeadline + retryPeriod
	renewDeadline = 800 * time.Millisecond
	retryPeriod   = 50 * time.Millisecond
)

// TestElection lets two candidates of client-go compete for a Lease while the server is killed. From the responses that
// they got, by their own clock, no candidate may lead before the other one has given up.
func TestElection(t *testing.T) {
	besideOthers(t)
	defer written.outcome(t, time.Now())
	f := startAlone(t)
	terms := &terms{changed: make(chan string, 1)}
	die := map[string]func(){"a": terms.stand(t, f, "a"), "b": terms.stand(t, f, "b")}
	kills, random := size(2, 60), choices(t, 0)
	for range kills {
		pause(t.Context(), time.Duration(random.IntN(size(500, 3000)))*time.Millisecond)
		f.kill(t, 0)
		f.takeOver(t)
	}
	leader := terms.next(t, "")
	die[leader]()
	other := terms.next(t, leader)
	die[other]()
	changes := terms.check(t)
	written.add(t, "%d kills; %d renewals acknowledged, the leader changed %d times", kills, len(terms.renewals), changes)
}

// terms records the renewals of all candidates.
type terms struct {
	mu       sync.Mutex // guards the field below
	renewals []resourcelock.LeaderElectionRecord
	// changed has the holder after a renewal, unless an older one was not read.
	changed chan string
}

// recorder is the lock of one candidate. It records the renewals that the server has acknowledged.
type recorder struct {
	resourcelock.Interface
	terms *terms
}

// Create implements resourcelock.Interface.
func (r recorder) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return r.record(&record, r.Interface.Create(ctx, record))
}

// Update implements resourcelock.Interface.
func (r recorder) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return r.record(&record, r.Interface.Update(ctx, record))
}

func (r recorder) record(record *resourcelock.LeaderElectionRecord, err error) error {
	if err != nil {
		return err
	}
	r.terms.mu.Lock()
	defer r.terms.mu.Unlock()
	r.terms.renewals = append(r.terms.renewals, *record)
	select {
	case r.terms.changed <- record.HolderIdentity:
	default:
	}
	return nil
}

// stand starts a candidate. It stands again when it has lost the Lease, and ends with the test or with die, which does
// not give the Lease back.
func (s *terms) stand(t *testing.T, f *fleet, name string) (die func()) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", f.replicas[0].server().Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	election := leaderelection.LeaderElectionConfig{
		Lock: recorder{&resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "fault"},
			Client:     client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: name},
		}, s},
		LeaseDuration: leaseTime, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) {}, OnStoppedLeading: func() {}},
	}
	ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), logr.Discard()))
	ended := make(chan struct{})
	go func() { // ends with ctx
		defer close(ended)
		for ctx.Err() == nil {
			leaderelection.RunOrDie(ctx, election)
		}
	}()
	die = func() { cancel(); <-ended }
	t.Cleanup(die)
	return die
}

// next waits for a renewal by another candidate than before, from now on, and returns its name.
func (s *terms) next(t *testing.T, before string) string {
	t.Helper()
	select {
	case <-s.changed: // an older one
	default:
	}
	deadline := time.After(patience)
	for {
		select {
		case holder := <-s.changed:
			if holder != before {
				return holder
			}
		case <-deadline:
			t.Fatal("nobody leads")
		}
	}
}

// check checks that no two candidates have led at the same time. It returns how often the leader has changed.
func (s *terms) check(t *testing.T) (changes int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.SortFunc(s.renewals, func(a, b resourcelock.LeaderElectionRecord) int {
		return a.RenewTime.Compare(b.RenewTime.Time)
	})
	for n := range s.renewals[1:] {
		last, next := &s.renewals[n], &s.renewals[n+1]
		if next.HolderIdentity == last.HolderIdentity {
			continue
		}
		changes++
		if next.RenewTime.Time.Before(last.RenewTime.Add(leadingTime)) {
			t.Errorf("%s leads since %v, but %s has renewed the Lease at %v", next.HolderIdentity, next.RenewTime,
				last.HolderIdentity, last.RenewTime)
		}
	}
	return changes
}
