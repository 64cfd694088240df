package dynamicstorage

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/klog/v2"
)

// errOtherHistory: etcd was restored from a backup, or replaced. Nothing in memory is valid any more.
var errOtherHistory = errors.New("etcd was restored or replaced")

// witness is a change that the feed or a load has seen, the newest one. etcd has it as long as its history is the one
// that the cache was made from. So a new watch of the feed begins with it: if etcd sends another change first, it was
// restored from a backup and has made other changes since. Nothing else tells such an etcd from one that was only
// restarted, because cluster and members may have the same IDs, and revisions may have passed those before.
type witness struct {
	kv      *mvccpb.KeyValue
	deleted bool
	// compacted: etcd has compacted the change, so a watch cannot begin with it.
	compacted bool
}

// is reports whether an event is the change of the witness.
func (w *witness) is(event *clientv3.Event) bool {
	return w.deleted == (event.Type == clientv3.EventTypeDelete) && sameChange(w.kv, event.Kv)
}

func sameChange(a, b *mvccpb.KeyValue) bool {
	return a.ModRevision == b.ModRevision && a.CreateRevision == b.CreateRevision && a.Version == b.Version &&
		bytes.Equal(a.Key, b.Key) && bytes.Equal(a.Value, b.Value)
}

// remember makes a change the witness if it is the newest.
func (f *feed) remember(w *witness) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.witness == nil || f.witness.kv.ModRevision < w.kv.ModRevision {
		f.witness = w
	}
}

// loaded offers the newest key of a load as the witness. The load began when the feed had lost breaks watches. It
// counts only if the feed has followed etcd from then on, and has passed the key.
func (f *feed) loaded(newest *mvccpb.KeyValue, breaks int64) {
	if newest != nil && f.reached(newest.ModRevision) && f.inSync.Load() != nil && f.breaks.Load() == breaks {
		f.remember(&witness{kv: newest})
	}
}

func (f *feed) lastChange() *witness {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.witness
}

// first returns the revision that a watch begins with: that of the witness, or the first that the feed has not seen.
func (f *feed) first() int64 {
	next := f.current() + 1
	if w := f.lastChange(); w != nil && !w.compacted && !f.noProgress {
		return min(next, w.kv.ModRevision)
	}
	return next
}

// examine returns an error if the response to a linearizable read shows that etcd was replaced or has gone back. known
// is a revision that the feed had reached before the read.
func (f *feed) examine(header *pb.ResponseHeader, known int64) error {
	if cluster := f.cluster.Load(); cluster != 0 && cluster != header.ClusterId {
		return fmt.Errorf("%w: its cluster ID was %x and is %x", errOtherHistory, cluster, header.ClusterId)
	}
	if header.Revision < known {
		return fmt.Errorf("%w: its revision was %d and is %d", errOtherHistory, known, header.Revision)
	}
	return nil
}

// confirm is called when etcd has created the watch. The feed follows the watch from then on, unless that begins with
// the witness.
func (w *feedWatch) confirm(ctx context.Context) error {
	known := w.feed.current()
	header, err := w.feed.store.ask(ctx)
	if err != nil {
		return err
	}
	if err := w.feed.examine(header, known); err != nil {
		return err
	}
	if !w.unproven {
		w.follow()
	}
	return nil
}

// prove compares the first events, or the first progress, of a watch that begins with the witness.
func (w *feedWatch) prove(resp *clientv3.WatchResponse) error {
	last, known := w.feed.lastChange(), w.feed.current()
	at := last.kv.ModRevision
	if len(resp.Events) == 0 {
		if resp.Header.Revision < at { // of a member that lags behind
			return nil
		}
		return fmt.Errorf("%w: it does not have the change of revision %d", errOtherHistory, at)
	}
	proven := false
	for _, event := range resp.Events {
		if revision := event.Kv.ModRevision; revision > at && revision <= known {
			return fmt.Errorf("%w: it has another change of revision %d", errOtherHistory, revision)
		}
		proven = proven || last.is(event)
	}
	if !proven {
		return fmt.Errorf("%w: its change of revision %d is another", errOtherHistory, at)
	}
	w.follow()
	return nil
}

// proveByState compares the witness with a state of etcd, if a watch cannot begin with it: because etcd has compacted
// the change, or does not say when it has nothing to send.
func (f *feed) proveByState(ctx context.Context) error {
	w := f.lastChange()
	if w == nil || !w.compacted && !f.noProgress {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, etcdTimeout, ErrUnavailable)
	defer cancel()
	resp, err := f.store.client.Get(ctx, string(w.kv.Key), clientv3.WithRev(f.current()))
	err = etcdError(ctx, "reading the last change", err)
	switch {
	case errors.Is(err, ErrCompacted): // the watch will find the same
		return nil
	case errors.Is(err, ErrFutureRevision):
		return fmt.Errorf("%w: %w", errOtherHistory, err)
	case err != nil:
		return err
	}
	if w.deleted && len(resp.Kvs) == 0 || !w.deleted && len(resp.Kvs) == 1 && sameChange(w.kv, resp.Kvs[0]) {
		return nil
	}
	return fmt.Errorf("%w: it does not have the change of revision %d", errOtherHistory, w.kv.ModRevision)
}

// startOver drops everything in memory, and continues from a revision that is older than that of any later load.
// Watchers end with ErrCompacted.
func (f *feed) startOver(ctx context.Context, cause error) error {
	header, err := f.store.ask(ctx)
	if err != nil {
		return err // the next watch finds the same
	}
	klog.FromContext(ctx).Error(cause, "Dropping the cache, and ending all watches",
		"from", f.current(), "to", header.Revision)
	f.mu.Lock()
	f.witness = nil
	f.mu.Unlock()
	f.cluster.Store(header.ClusterId)
	f.store.compacted.Store(0)
	f.store.spawn(f.store.tryUpdateCompactedRevision)
	f.move(min(f.current(), header.Revision)) // what is loaded from now on must not get a revision of the lost history
	for _, r := range f.store.all() {
		r.loseEvents()
	}
	for _, o := range f.observing() {
		o.lose()
	}
	f.move(header.Revision)
	return cause
}
