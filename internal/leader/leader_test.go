package leader

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		println(err.Error())
		code = 1
	}
	os.Exit(code)
}

// lease is a lock in memory, as several candidates see it.
type lease struct {
	mu      sync.Mutex // guards the fields below
	record  *resourcelock.LeaderElectionRecord
	version int
	broken  bool
}

var errBroken = errors.New("broken")

// candidate is the lock of one candidate.
type candidate struct {
	*lease
	name string
	seen int
}

var _ resourcelock.Interface = &candidate{}

// Get implements resourcelock.Interface.
func (c *candidate) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.broken:
		return nil, nil, errBroken
	case c.record == nil:
		return nil, nil, apierrors.NewNotFound(schema.GroupResource{}, "lease")
	}
	c.seen = c.version
	record := *c.record
	return &record, []byte(record.HolderIdentity + record.RenewTime.String()), nil
}

// Create implements resourcelock.Interface.
func (c *candidate) Create(_ context.Context, record resourcelock.LeaderElectionRecord) error {
	return c.put(record, c.record == nil)
}

// Update implements resourcelock.Interface.
func (c *candidate) Update(_ context.Context, record resourcelock.LeaderElectionRecord) error {
	return c.put(record, c.seen == c.version)
}

func (c *candidate) put(record resourcelock.LeaderElectionRecord, fresh bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken || !fresh {
		return errBroken
	}
	c.version++
	c.seen = c.version
	c.record = &record
	return nil
}

// Describe implements resourcelock.Interface.
func (c *candidate) Describe() string { return "lease" }

// Identity implements resourcelock.Interface.
func (c *candidate) Identity() string { return c.name }

// RecordEvent implements resourcelock.Interface.
func (c *candidate) RecordEvent(string) {}

// run takes part in the election. began and ended have an element when f begins and has ended.
func (l *lease) run(t *testing.T, name string) (began, ended chan string, stop func()) {
	began, ended = make(chan string, 1), make(chan string, 1)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := Run(ctx, &candidate{lease: l, name: name}, func(ctx context.Context) {
			began <- name
			<-ctx.Done()
			ended <- name
		}); err != nil {
			t.Error(err)
		}
	}()
	return began, ended, func() { cancel(); <-done }
}

// TestRun checks that one candidate leads at a time, and that the other follows when it stops.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lease{}
		aBegan, aEnded, stopA := l.run(t, "a")
		<-aBegan
		bBegan, bEnded, stopB := l.run(t, "b")
		synctest.Wait()
		if len(bBegan) != 0 {
			t.Error("two lead")
		}
		stopA()
		if len(aEnded) != 1 {
			t.Error("the lock was given up before the work had ended")
		}
		<-bBegan
		stopB()
		<-bEnded
	})
}

// TestLost checks that the work ends when the lock cannot be renewed, and begins again when it can.
func TestLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lease{}
		began, ended, stop := l.run(t, "a")
		<-began
		l.setBroken(true)
		<-ended
		l.setBroken(false)
		<-began
		stop()
	})
}

func (l *lease) setBroken(broken bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken = broken
}

// TestStop checks that a candidate that does not lead stops.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lease{broken: true}
		began, _, stop := l.run(t, "a")
		synctest.Wait()
		stop()
		if len(began) != 0 {
			t.Error("it led")
		}
	})
}
