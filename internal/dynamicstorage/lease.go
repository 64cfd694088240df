package dynamicstorage

import (
	"context"
	"errors"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/semaphore"
)

// leases grants the etcd leases of entries that expire. A lease costs etcd more than an entry, so entries that are
// written one after the other share one. They live a little longer than they have to, as with kube-apiserver.
type leases struct {
	store *Store
	// granting guards the field below. It is a semaphore because it is held during requests to etcd.
	granting *semaphore.Weighted
	last     lease
}

// lease is a lease that was granted.
type lease struct {
	id clientv3.LeaseID
	// expires is not later than the end of the lease.
	expires time.Time
	// writes counts those that were given the lease, whether they succeeded or not.
	writes int
}

const (
	// A lease is shared during one part in leaseParts of the time that its entries live, at most maxLeaseSharing.
	leaseParts      = 20
	maxLeaseSharing = time.Minute
	// maxLeaseWrites bounds the entries of a lease, because etcd deletes them all at once.
	maxLeaseWrites = 1000
)

func newLeases(s *Store) *leases { return &leases{store: s, granting: semaphore.NewWeighted(1)} }

// get returns a lease that ends after ttl, or shortly after that. lost is a lease that etcd does not have any more; 0
// if there is none.
func (l *leases) get(ctx context.Context, ttl time.Duration, lost clientv3.LeaseID) (clientv3.LeaseID, error) {
	if err := l.granting.Acquire(ctx, 1); err != nil {
		return 0, context.Cause(ctx)
	}
	defer l.granting.Release(1)
	ttl = (ttl + time.Second - 1).Truncate(time.Second)
	now, sharing := l.store.options.Clock.Now(), min(ttl/leaseParts, maxLeaseSharing).Truncate(time.Second)
	left := l.last.expires.Sub(now)
	if l.last.id == lost || left < ttl || left > ttl+sharing || l.last.writes == maxLeaseWrites {
		id, err := l.grant(ctx, ttl+sharing)
		if err != nil {
			return 0, err
		}
		l.last = lease{id: id, expires: now.Add(ttl + sharing)}
	}
	l.last.writes++
	return l.last.id, nil
}

func (l *leases) grant(ctx context.Context, ttl time.Duration) (clientv3.LeaseID, error) {
	return request(ctx, l.store, "granting a lease", func(ctx context.Context) (clientv3.LeaseID, error) {
		resp, err := l.store.client.Grant(ctx, int64(ttl/time.Second))
		if err != nil {
			return 0, err
		}
		return resp.ID, nil
	})
}

// transactExpiring stores the value of a change that expires. A lease that etcd has lost, because it was restored from
// a backup, is replaced.
func (u *GuardedUpdate) transactExpiring(ctx context.Context, value []byte, change Change) (int64, error) {
	leases := u.resource.store.leases
	id, err := leases.get(ctx, change.Expires, 0)
	if err != nil {
		return 0, err
	}
	revision, err := u.transact(ctx, u.putting(value, clientv3.WithLease(id)), change.If)
	if !errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return revision, err
	}
	if id, err = leases.get(ctx, change.Expires, id); err != nil {
		return 0, err
	}
	return u.transact(ctx, u.putting(value, clientv3.WithLease(id)), change.If)
}
