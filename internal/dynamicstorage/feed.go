package dynamicstorage

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/klog/v2"
)

// feed is the one watch over the whole prefix. It hands every event to its resource, in order, and then advances its
// revision: after that the resources have everything up to it.
type feed struct {
	store *Store
	// revision is written by the feed's goroutine only.
	revision atomic.Int64
	// ignored counts the events of resources that are not in memory.
	ignored atomic.Int64
	// breaks counts the watches that were lost.
	breaks atomic.Int64
	// silent: etcd does not answer progress requests, so consistent reads go to etcd.
	silent atomic.Bool
	// noProgress: this version of etcd must not be sent progress requests. Used by the feed's goroutine only.
	noProgress bool
	// connected: a watch is established.
	connected atomic.Bool
	// started is closed when the feed has its first revision.
	started chan struct{}
	// wanted has an element when a reader waits for a revision that the feed has not reached.
	wanted chan struct{}

	// mu guards the fields below.
	mu      sync.Mutex
	moved   chan struct{} // closed and replaced when the revision advances; unlike sync.Cond it works with contexts
	waiting int           // readers that wait for moved
	lastErr error
}

func newFeed(s *Store) *feed {
	return &feed{store: s, started: make(chan struct{}), wanted: make(chan struct{}, 1), moved: make(chan struct{})}
}

func (f *feed) current() int64 { return f.revision.Load() }

func (f *feed) reached(revision int64) bool { return f.revision.Load() >= revision }

func (f *feed) ready() error {
	if f.connected.Load() {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lastErr != nil {
		return fmt.Errorf("%w: the watch on etcd has failed: %w", ErrUnavailable, f.lastErr)
	}
	return fmt.Errorf("%w: the watch on etcd has not started", ErrUnavailable)
}

// wait waits until the feed has reached a revision.
func (f *feed) wait(ctx context.Context, revision int64) error {
	if f.reached(revision) {
		return nil
	}
	f.addWaiting(1)
	defer f.addWaiting(-1)
	select {
	case f.wanted <- struct{}{}:
	default:
	}
	for {
		f.mu.Lock()
		moved := f.moved
		f.mu.Unlock()
		if f.reached(revision) {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-f.store.background.Done():
			return ErrClosed
		}
	}
}

func (f *feed) addWaiting(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiting += n
}

func (f *feed) hasWaiting() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.waiting > 0
}

// move sets the revision and wakes the readers that wait for it.
func (f *feed) move(revision int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.revision.Store(revision)
	if f.waiting > 0 {
		close(f.moved)
		f.moved = make(chan struct{})
	}
}

// Backoff between attempts to establish the watch.
const (
	minBackoff = 50 * time.Millisecond
	maxBackoff = 2 * time.Second
)

// run keeps a watch going until ctx is done.
func (f *feed) run(ctx context.Context) {
	var backoff time.Duration
	for ctx.Err() == nil {
		began := f.current()
		err := f.watch(ctx)
		f.connected.Store(false)
		if ctx.Err() != nil {
			return
		}
		f.breaks.Add(1)
		f.mu.Lock()
		f.lastErr = err
		f.mu.Unlock()
		klog.FromContext(ctx).V(1).Info("Watch on etcd ended, restarting it", "revision", f.current(), "err", err)
		if backoff = min(max(2*backoff, minBackoff), maxBackoff); f.current() != began {
			backoff = minBackoff
		}
		select {
		case <-f.store.options.Clock.After(backoff):
		case <-ctx.Done():
		}
	}
}

var errWatchEnded = errors.New("watch ended")

// watch handles the responses of one watch until it ends.
func (f *feed) watch(ctx context.Context) error {
	if err := f.prepare(ctx); err != nil {
		return err
	}
	watcher := f.store.options.NewWatcher()
	defer func() { _ = watcher.Close() }()
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	responses := watcher.Watch(ctx, f.store.prefix+"/", clientv3.WithPrefix(), clientv3.WithRev(f.current()+1),
		clientv3.WithCreatedNotify(), clientv3.WithProgressNotify(), clientv3.WithFragment())
	p := newProgressRequester(f, watcher)
	defer p.timer.Stop()
	for {
		select {
		case resp, open := <-responses:
			if !open {
				return errWatchEnded
			}
			if err := resp.Err(); err != nil {
				return f.failed(ctx, &resp, err)
			}
			f.handle(ctx, &resp, p)
		case <-f.wanted:
			p.wanted()
		case <-p.timer.C():
			p.request(ctx)
		}
	}
}

// prepare determines the revision to watch from. After a failed watch that is the revision it had reached, unless
// etcd has gone back behind it: then etcd was restored from a backup, and nothing in memory is valid any more.
func (f *feed) prepare(ctx context.Context) error {
	revision, err := f.store.askRevision(ctx)
	if err != nil {
		return err
	}
	known := f.current()
	switch {
	case known == 0:
		if err := f.checkVersion(ctx); err != nil {
			return err
		}
		f.move(revision)
		close(f.started)
	case revision < known:
		klog.FromContext(ctx).Error(nil, "Revision of etcd has gone back, dropping the cache", "from", known, "to", revision)
		for _, r := range f.store.all() {
			r.reset(ErrCompacted)
		}
		f.move(revision)
	}
	return nil
}

// failed handles an error of the watch. After a compaction the watch cannot continue where it was: the resources in
// memory are dropped, and the feed continues from a revision that is older than that of any later load.
func (f *feed) failed(ctx context.Context, resp *clientv3.WatchResponse, err error) error {
	err = etcdError(ctx, "watching etcd", err)
	if !errors.Is(err, ErrCompacted) {
		return err
	}
	revision, askErr := f.store.askRevision(ctx)
	if askErr != nil {
		return askErr // the next watch finds it compacted again
	}
	klog.FromContext(ctx).Info("Events were compacted before the watch had received them, dropping the cache",
		"revision", f.current(), "compacted", resp.CompactRevision)
	for _, r := range f.store.all() {
		r.loseEvents()
	}
	f.move(revision)
	return err
}

// handle handles a response of the watch.
func (f *feed) handle(ctx context.Context, resp *clientv3.WatchResponse, p *progressRequester) {
	switch {
	case resp.Created:
		f.connected.Store(true)
	case resp.IsProgressNotify():
		p.answered()
		if resp.Header.Revision > f.current() {
			f.move(resp.Header.Revision)
		}
	case len(resp.Events) > 0:
		changed := f.distribute(ctx, resp.Events)
		// The revision in the header is that of etcd. It may be newer than the events of this response.
		if last := resp.Events[len(resp.Events)-1].Kv.ModRevision; last > f.current() {
			f.move(last)
		}
		for _, r := range changed {
			r.deliver()
		}
	}
}

// distribute hands the events of a response to their resources, to each all of its events at once. It returns the
// resources in memory that had events.
func (f *feed) distribute(ctx context.Context, events []*clientv3.Event) (changed []*Resource) {
	known := f.current()
	var resources []*Resource
	byResource := map[*Resource][]*clientv3.Event{}
	for _, event := range events {
		if event.Kv.ModRevision <= known { // received before
			continue
		}
		r := f.store.find(event.Kv.Key)
		if r == nil {
			f.ignored.Add(1)
			continue
		}
		if byResource[r] == nil {
			resources = append(resources, r)
		}
		byResource[r] = append(byResource[r], event)
	}
	for _, r := range resources {
		n := int64(len(byResource[r]))
		if !r.receive(ctx, byResource[r]) {
			f.ignored.Add(n)
			continue
		}
		r.counts.received.Add(n)
		changed = append(changed, r)
	}
	return changed
}
