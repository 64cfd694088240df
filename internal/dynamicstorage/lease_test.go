package dynamicstorage

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"
)

// expiring stores a value that expires.
func expiring(ttl time.Duration) Mutate {
	return func(context.Context, *Entry) (Change, error) {
		return Change{Op: Put, Value: []byte(ttl.String()), Expires: ttl}, nil
	}
}

// leaseOf returns the lease of a key in etcd; 0 if there is none.
func leaseOf(t *testing.T, r *Resource, key string) clientv3.LeaseID {
	t.Helper()
	got, err := shared.Client.Get(deadline(t), r.fullKey(key))
	if err != nil || len(got.Kvs) != 1 {
		t.Fatalf("%s: %v, %v", key, got, err)
	}
	return clientv3.LeaseID(got.Kvs[0].Lease)
}

// TestExpiry checks that watchers and the cache see the end of an entry, and that another write keeps it.
func TestExpiry(t *testing.T) {
	t.Parallel()
	for name, client := range map[string]*clientv3.Client{"remote": shared.client, "in-process": shared.Client} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := run(t, Options{Client: client, Prefix: shared.Prefix(t)}).ResourceAt("events")
			w := watch(t, r, snapshot(t, r, ReadAt{}).Revision)
			update(t, r, "n/stays", expiring(time.Hour))
			put(t, r, "n/stays", "forever")
			created := update(t, r, "n/expires", expiring(time.Second))
			if id := leaseOf(t, r, "n/stays"); id != 0 {
				t.Errorf("an entry written without expiry has the lease %d", id)
			}
			if last := next(t, w, 4)[3]; last.Entry != nil || last.Prev != created {
				t.Errorf("the last event is %+v", last)
			}
			if _, _, err := r.Get(deadline(t), "n/expires", ReadAt{}); !errors.Is(err, ErrNotFound) {
				t.Errorf("the expired entry is read with %v", err)
			}
			if _, _, err := r.Get(deadline(t), "n/stays", ReadAt{}); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestLeasesAreShared checks which writes share a lease.
func TestLeasesAreShared(t *testing.T) {
	t.Parallel()
	now := &settableClock{WithTicker: clock.RealClock{}, FakePassiveClock: testingclock.NewFakePassiveClock(time.Now())}
	r := run(t, Options{Client: shared.client, Prefix: shared.Prefix(t), Clock: now}).ResourceAt("events")
	write := func(key string, ttl time.Duration) clientv3.LeaseID {
		t.Helper()
		update(t, r, key, expiring(ttl))
		return leaseOf(t, r, key)
	}
	first := write("a", time.Hour)
	granted, err := shared.Client.TimeToLive(deadline(t), first)
	if err != nil || granted.GrantedTTL != int64((time.Hour+time.Minute)/time.Second) {
		t.Errorf("the lease is %+v, %v", granted, err)
	}
	now.SetTime(now.Now().Add(maxLeaseSharing))
	if id := write("b", time.Hour); id != first {
		t.Error("a write within the time for sharing has another lease")
	}
	now.SetTime(now.Now().Add(time.Second))
	second := write("a", time.Hour)
	if second == first {
		t.Error("a lease is used although it ends too soon")
	}
	if id := write("b", time.Minute); id == second {
		t.Error("an entry that expires soon has a long lease")
	}
	if _, err := r.store.leases.get(deadline(t), time.Hour, 0); err != nil {
		t.Fatal(err)
	}
	third := write("c", time.Hour)
	for range maxLeaseWrites - 2 {
		if id, err := r.store.leases.get(deadline(t), time.Hour, 0); err != nil || id != third {
			t.Fatal(id, err)
		}
	}
	if id := write("d", time.Hour); id == third {
		t.Errorf("a lease is used more than %d times", maxLeaseWrites)
	}
}

// settableClock is the real clock, but it shows a time that the test sets.
type settableClock struct {
	clock.WithTicker
	*testingclock.FakePassiveClock
}

func (c *settableClock) Now() time.Time                  { return c.FakePassiveClock.Now() }
func (c *settableClock) Since(t time.Time) time.Duration { return c.FakePassiveClock.Since(t) }

// TestLostLease checks that a write succeeds although etcd has lost the lease that it would share.
func TestLostLease(t *testing.T) {
	t.Parallel()
	for name, client := range map[string]*clientv3.Client{"remote": shared.client, "in-process": shared.Client} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := run(t, Options{Client: client, Prefix: shared.Prefix(t)}).ResourceAt("events")
			snapshot(t, r, ReadAt{})
			update(t, r, "x", expiring(time.Hour))
			lost := leaseOf(t, r, "x")
			if _, err := client.Revoke(deadline(t), lost); err != nil {
				t.Fatal(err)
			}
			update(t, r, "x", expiring(time.Hour))
			if id := leaseOf(t, r, "x"); id == 0 || id == lost {
				t.Errorf("the lease is %d", id)
			}
		})
	}
}

// TestKeepingKeepsTheLease checks that an entry that is only encrypted again expires when it would have.
func TestKeepingKeepsTheLease(t *testing.T) {
	t.Parallel()
	r := run(t, Options{Client: shared.client, Prefix: shared.Prefix(t)}).ResourceAt("events")
	stored := update(t, r, "x", expiring(time.Hour))
	id := leaseOf(t, r, "x")
	u, err := r.BeginUpdate("x", UpdateOptions{Fresh: true})
	if err != nil {
		t.Fatal(err)
	}
	defer u.End()
	if _, err := u.Read(deadline(t)); err != nil {
		t.Fatal(err)
	}
	u.current.stale = true // as if it was encrypted by an old key
	kept, err := u.Commit(deadline(t), Change{Op: Keep})
	if err != nil || kept.Revision == stored.Revision || string(kept.Value) != string(stored.Value) {
		t.Fatalf("%+v, %v", kept, err)
	}
	if now := leaseOf(t, r, "x"); now != id {
		t.Errorf("the lease was %d and is %d", id, now)
	}
}

// TestExpiringWritesDuringAnOutage checks that a write that needs a lease fails as others do while etcd is away.
func TestExpiringWritesDuringAnOutage(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	s.outage.begin(t.Context(), fmt.Errorf("%w: in this test", ErrUnavailable))
	_, err := s.leases.get(t.Context(), time.Hour, 0)
	if !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrUnconfirmed) {
		t.Errorf("%v, want an error that etcd is unavailable", err)
	}
	s.outage.over(t.Context())
	if _, err := s.leases.get(deadline(t), time.Hour, 0); err != nil {
		t.Error(err)
	}
}
