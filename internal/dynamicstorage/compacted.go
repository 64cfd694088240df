package dynamicstorage

import (
	"context"
	"errors"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/klog/v2"
)

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
