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
	// inSync is the watch that the feed follows etcd by, once it is certain that it continues the history in memory.
	// Without one, the cache may differ from etcd although it has etcd's revision.
	inSync atomic.Pointer[feedWatch]
	// cluster is the ID of the etcd cluster; 0 until it is known.
	cluster atomic.Uint64
	// observations get all events. The slice is immutable; mu guards its replacement.
	observations atomic.Pointer[[]*observation]
	// started is closed when the feed has its first revision.
	started chan struct{}
	// wanted has an element when a reader waits for a revision that the feed has not reached.
	wanted chan struct{}
	// suspected has an element when the feed should give up its watch, and find out what has become of etcd.
	suspected chan struct{}

	// mu guards the fields below.
	mu sync.Mutex
	// moved is closed and replaced when the revision advances, and when the feed is in sync. Unlike sync.Cond it works
	// with contexts. waiting is the number of readers that wait for it.
	moved   chan struct{}
	waiting int
	lastErr error
	witness *witness
}

func newFeed(s *Store) *feed {
	return &feed{
		store:     s,
		started:   make(chan struct{}),
		wanted:    make(chan struct{}, 1),
		suspected: make(chan struct{}, 1),
		moved:     make(chan struct{}),
	}
}

func (f *feed) current() int64 { return f.revision.Load() }

func (f *feed) reached(revision int64) bool { return f.revision.Load() >= revision }

// follows reports whether the cache has everything up to a revision that etcd had before the call.
func (f *feed) follows(revision int64) bool { return f.inSync.Load() != nil && f.reached(revision) }

func (f *feed) ready() error {
	if err := f.store.outage.err(); err != nil {
		return err
	}
	if f.inSync.Load() != nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lastErr != nil {
		return fmt.Errorf("%w: the watch on etcd has failed: %w", ErrUnavailable, f.lastErr)
	}
	return fmt.Errorf("%w: the watch on etcd has not started", ErrUnavailable)
}

// wait waits until a condition holds that can change when the feed moves: reached or follows.
func (f *feed) wait(ctx context.Context, holds func() bool) error {
	if holds() {
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
		if holds() {
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

// suspect makes the feed find out what has become of etcd.
func (f *feed) suspect() {
	f.inSync.Store(nil)
	select {
	case f.suspected <- struct{}{}:
	default:
	}
}

// Backoff between attempts to establish the watch.
const (
	minBackoff = 50 * time.Millisecond
	maxBackoff = 500 * time.Millisecond
)

// run keeps a watch going until ctx is done.
func (f *feed) run(ctx context.Context) {
	var backoff time.Duration
	for ctx.Err() == nil {
		began := f.current()
		err := f.watch(ctx)
		if errors.Is(err, errOtherHistory) || errors.Is(err, ErrCompacted) {
			err = f.startOver(ctx, err)
		}
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
		_ = f.store.pause(ctx, backoff)
	}
}

var (
	errWatchEnded = errors.New("watch ended")
	errSuspected  = errors.New("etcd does not answer, or has changed")
)

// watch handles the responses of one watch until it ends.
func (f *feed) watch(ctx context.Context) error {
	if err := f.prepare(ctx); err != nil {
		return err
	}
	first := f.first()
	w := &feedWatch{feed: f, unproven: first <= f.current()}
	defer w.end()
	watcher := f.store.newWatcher(w.end)
	defer func() { _ = watcher.Close() }()
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	late := time.AfterFunc(f.store.options.AskFor, cancel) // Watch returns when etcd has created the watch
	responses := watcher.Watch(ctx, f.store.prefix+"/", clientv3.WithPrefix(), clientv3.WithRev(first),
		clientv3.WithCreatedNotify(), clientv3.WithProgressNotify(), clientv3.WithFragment())
	late.Stop()
	w.progress = newProgressRequester(w, watcher)
	defer w.progress.timer.Stop()
	for {
		select {
		case resp, open := <-responses:
			if !open {
				return errWatchEnded
			}
			if err := w.handle(ctx, &resp); err != nil {
				return err
			}
		case <-f.wanted:
			w.progress.wanted()
		case <-w.progress.timer.C():
			w.progress.request(ctx)
		case <-f.suspected:
			return errSuspected
		}
	}
}

// prepare waits until etcd answers. The first time, it determines the revision to watch from.
func (f *feed) prepare(ctx context.Context) error {
	select {
	case <-f.suspected: // the reason is found out now
	default:
	}
	header, err := f.store.ask(ctx)
	if err != nil {
		return err
	}
	if f.current() != 0 {
		return f.proveByState(ctx)
	}
	if err := f.checkVersion(ctx); err != nil {
		return err
	}
	f.cluster.Store(header.ClusterId)
	f.move(header.Revision)
	close(f.started)
	return nil
}

// receive handles events of the watch. Afterwards the feed has reached their revision.
func (f *feed) receive(ctx context.Context, events []*clientv3.Event) {
	changed := f.distribute(ctx, events)
	for _, o := range f.observing() {
		o.receive(events, f.current())
	}
	// The revision in the header is that of etcd. It may be newer than the events of this response.
	last := events[len(events)-1]
	if last.Kv.ModRevision > f.current() {
		f.remember(&witness{kv: last.Kv, deleted: last.Type == clientv3.EventTypeDelete})
		f.move(last.Kv.ModRevision)
	}
	for _, r := range changed {
		r.deliver()
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
