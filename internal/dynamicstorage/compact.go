package dynamicstorage

import (
	"context"
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
