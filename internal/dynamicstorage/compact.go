package dynamicstorage

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/klog/v2"
)

// compactKey is the key with which kube-apiserver coordinates compactions. Of all servers on one etcd only one
// compacts in an interval.
const compactKey = "compact_rev_key"

// Compact compacts etcd every interval, up to the revision it had one interval before, until ctx is done. Any number
// of replicas may run it. It is for an etcd without automatic compaction.
func (s *Store) Compact(ctx context.Context, interval time.Duration) {
	ticker := s.options.Clock.NewTicker(interval)
	defer ticker.Stop()
	c := compactor{client: s.client, done: &s.compactions}
	if err := c.begin(ctx); err != nil && ctx.Err() == nil {
		klog.FromContext(ctx).V(2).Info("etcd will be compacted one interval later", "err", err)
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
			if err := c.tick(ctx); err != nil && ctx.Err() == nil {
				klog.FromContext(ctx).Error(err, "Compaction of etcd failed", "revision", c.revision)
			}
			s.tryUpdateCompactedRevision()
		}
	}
}

// compactor is one of the servers that compact an etcd.
type compactor struct {
	client *clientv3.Client
	// done counts its compactions.
	done *atomic.Int64
	// version is the last known version of the key. The server that finds it unchanged compacts.
	version int64
	// revision is the revision of etcd at the last tick.
	revision int64
}

// begin reads what the first tick compares with. So that compacts already, unless another server does.
func (c *compactor) begin(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, etcdTimeout, ErrUnavailable)
	defer cancel()
	resp, err := c.client.Get(ctx, compactKey)
	if err != nil {
		return etcdError(ctx, "reading the last compaction", err)
	}
	c.saw(resp.Kvs)
	c.revision = resp.Header.Revision
	return nil
}

// saw remembers the version of the key that was read.
func (c *compactor) saw(kvs []*mvccpb.KeyValue) {
	c.version = 0
	if len(kvs) > 0 {
		c.version = kvs[0].Version
	}
}

// tick compacts unless another server has since the last tick.
func (c *compactor) tick(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, etcdTimeout, ErrUnavailable)
	defer cancel()
	resp, err := c.client.Txn(ctx).
		If(clientv3.Compare(clientv3.Version(compactKey), "=", c.version)).
		Then(clientv3.OpPut(compactKey, strconv.FormatInt(c.revision, 10))).
		Else(clientv3.OpGet(compactKey)).
		Commit()
	if err != nil {
		return etcdError(ctx, "recording a compaction", err)
	}
	revision := c.revision
	c.revision = resp.Header.Revision
	if !resp.Succeeded {
		c.saw(resp.Responses[0].GetResponseRange().Kvs)
		return nil
	}
	c.version++
	if revision == 0 || revision > c.revision { // first tick, or etcd was restored
		return nil
	}
	if _, err = c.client.Compact(ctx, revision); err != nil {
		return etcdError(ctx, "compacting etcd", err)
	}
	c.done.Add(1)
	return nil
}

// compactedInterval is the time after which the store asks again which revision etcd has compacted. kube-apiserver
// asks as often.
const compactedInterval = 15 * time.Second

// CompactedRevision returns the revision that etcd has compacted, as far as the store knows; 0 if it knows of no
// compaction. The store does not read older states from memory, so that all replicas answer alike, and as after a
// restart. Watchers get older events as long as memory has them.
func (s *Store) CompactedRevision() int64 { return s.compacted.Load() }

// UpdateCompactedRevision asks etcd for the compacted revision. Anything may compact etcd: this store, another
// replica, etcd itself, or an operator.
func (s *Store) UpdateCompactedRevision(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, etcdTimeout, ErrUnavailable)
	defer cancel()
	known := s.compacted.Load()
	oldest := max(known, 1)
	_, err := s.client.Get(ctx, s.prefix+"/", clientv3.WithRev(oldest), clientv3.WithCountOnly(),
		clientv3.WithSerializable())
	err = etcdError(ctx, "reading the oldest revision", err)
	if !errors.Is(err, ErrCompacted) {
		return err
	}
	compacted, err := s.askCompacted(ctx, oldest)
	if err != nil {
		return err
	}
	s.compacted.CompareAndSwap(known, compacted) // unless etcd was restored meanwhile
	return nil
}

// askCompacted returns the compacted revision, which is newer than old. Only the end of a watch that begins too early
// tells it.
func (s *Store) askCompacted(ctx context.Context, old int64) (int64, error) {
	watcher := s.newWatcher(func() {})
	defer func() { _ = watcher.Close() }()
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	for resp := range watcher.Watch(ctx, s.prefix+"/", clientv3.WithRev(old)) {
		if resp.CompactRevision > 0 {
			return resp.CompactRevision, nil
		}
		if err := resp.Err(); err != nil {
			return 0, etcdError(ctx, "asking etcd for the compacted revision", err)
		}
	}
	return 0, etcdError(ctx, "asking etcd for the compacted revision", errWatchEnded)
}

// followCompactions keeps the compacted revision up to date. It ends with the store.
func (s *Store) followCompactions() {
	ticker := s.options.Clock.NewTicker(compactedInterval)
	defer ticker.Stop()
	for {
		s.tryUpdateCompactedRevision()
		select {
		case <-s.background.Done():
			return
		case <-ticker.C():
		}
	}
}

// tryUpdateCompactedRevision leaves a failure to the next attempt.
func (s *Store) tryUpdateCompactedRevision() {
	if s.outage.err() != nil {
		return
	}
	if err := s.UpdateCompactedRevision(s.background); err != nil && s.background.Err() == nil {
		klog.FromContext(s.background).V(2).Info("Cannot find out which revision etcd has compacted", "err", err)
	}
}
