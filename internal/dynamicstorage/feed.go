package dynamicstorage

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/metadata"
	"k8s.io/klog/v2"
)

// feed is the one watch over the whole prefix. It hands every event to its resource, in order, and
// then moves its revision on: whoever sees a revision of the feed finds everything up to it in the resources.
type feed struct {
	store *Store
	// revision is written by the feed's goroutine only.
	revision atomic.Int64
	// unread counts the events of resources nobody has read.
	unread atomic.Int64
	// breaks counts the watches that were lost.
	breaks atomic.Int64
	// muted: progress requests are not answered.
	muted atomic.Bool
	// unsupported: progress must not be asked for. The feed's goroutine knows.
	unsupported bool
	// up: a watch is established.
	up atomic.Bool
	// started is closed when the feed has its first revision.
	started chan struct{}
	// wanted has an element when somebody waits for a revision that the feed has not reached.
	wanted chan struct{}

	// mu guards the fields below.
	mu      sync.Mutex
	moved   chan struct{} // closed and replaced when the revision moves, if anybody waits; obeys contexts, as sync.Cond would not
	waiting int
	lastErr error
}

func newFeed(s *Store) *feed {
	return &feed{store: s, started: make(chan struct{}), wanted: make(chan struct{}, 1), moved: make(chan struct{})}
}

func (f *feed) current() int64 { return f.revision.Load() }

func (f *feed) reached(revision int64) bool { return f.revision.Load() >= revision }

func (f *feed) mute() bool { return f.muted.Load() }

func (f *feed) ready() error {
	if f.up.Load() {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lastErr != nil {
		return fmt.Errorf("%w: the feed is down: %w", ErrUnavailable, f.lastErr)
	}
	return fmt.Errorf("%w: the feed has not started", ErrUnavailable)
}

// wait returns when the feed has reached a revision.
func (f *feed) wait(ctx context.Context, revision int64) error {
	if f.reached(revision) {
		return nil
	}
	f.mu.Lock()
	f.waiting++
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		f.waiting--
		f.mu.Unlock()
	}()
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

func (f *feed) waited() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.waiting > 0
}

// move sets the revision and wakes who waits for it.
func (f *feed) move(revision int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.revision.Store(revision)
	if f.waiting > 0 {
		close(f.moved)
		f.moved = make(chan struct{})
	}
}

// Pauses between attempts to establish the watch.
const (
	minPause = 50 * time.Millisecond
	maxPause = 2 * time.Second
)

// run keeps a watch going until ctx is done.
func (f *feed) run(ctx context.Context) {
	var pause time.Duration
	for ctx.Err() == nil {
		began := f.current()
		err := f.session(ctx)
		f.up.Store(false)
		if ctx.Err() != nil {
			return
		}
		f.breaks.Add(1)
		f.mu.Lock()
		f.lastErr = err
		f.mu.Unlock()
		klog.FromContext(ctx).V(1).Info("The feed from etcd broke off and is taken up again", "revision", f.current(), "err", err)
		if pause = min(max(2*pause, minPause), maxPause); f.current() != began {
			pause = minPause
		}
		select {
		case <-f.store.options.Clock.After(pause):
		case <-ctx.Done():
		}
	}
}

// session watches until the watch ends.
func (f *feed) session(ctx context.Context) error {
	if err := f.prepare(ctx); err != nil {
		return err
	}
	// A watch that ends for good is not in the way of the next: it has its stream to itself.
	ctx, cancel := context.WithCancel(ownStream(clientv3.WithRequireLeader(ctx)))
	defer cancel()
	events := f.store.client.Watch(ctx, f.store.prefix+"/", clientv3.WithPrefix(), clientv3.WithRev(f.current()+1),
		clientv3.WithCreatedNotify(), clientv3.WithProgressNotify(), clientv3.WithFragment())
	p := newProgress(f)
	defer p.stop()
	for {
		select {
		case resp, open := <-events:
			if !open {
				return errWatchEnded
			}
			if err := resp.Err(); err != nil {
				return f.broken(ctx, &resp, err)
			}
			f.take(ctx, &resp, p)
		case <-f.wanted:
			p.wanted()
		case <-p.timer.C():
			p.ask(ctx)
		}
	}
}

var errWatchEnded = errors.New("watch ended")

// prepare finds out where to watch from. A feed that was broken off goes on where it was, unless etcd has gone back
// behind that: it was restored from a backup, and what was learned of it is not true any more.
func (f *feed) prepare(ctx context.Context) error {
	revision, err := f.store.askRevision(ctx)
	if err != nil {
		return err
	}
	known := f.current()
	switch {
	case known == 0:
		if err := f.checkSupport(ctx); err != nil {
			return err
		}
		f.move(revision)
		close(f.started)
	case revision < known:
		klog.FromContext(ctx).Error(nil, "The revision of etcd has gone back, everything is read again", "from", known, "to", revision)
		for _, r := range f.store.all() {
			r.reset(ErrCompacted)
		}
		f.move(revision)
	}
	return nil
}

// broken deals with an error of the watch. After a compaction there is no going on from where it was: what is loaded is
// loaded again, and the feed continues from a revision that is older than any of the loads.
func (f *feed) broken(ctx context.Context, resp *clientv3.WatchResponse, err error) error {
	err = etcdError(ctx, "watching etcd", err)
	if !errors.Is(err, ErrCompacted) {
		return err
	}
	revision, askErr := f.store.askRevision(ctx)
	if askErr != nil {
		return askErr // and find it compacted again
	}
	klog.FromContext(ctx).Info("Events were compacted before the feed had seen them, what is loaded is read again",
		"revision", f.current(), "compacted", resp.CompactRevision)
	for _, r := range f.store.all() {
		r.reload()
	}
	f.move(revision)
	return err
}

// take hands a response's events to their resources.
func (f *feed) take(ctx context.Context, resp *clientv3.WatchResponse, p *progress) {
	switch {
	case resp.Created:
		f.up.Store(true)
	case resp.IsProgressNotify():
		p.answered()
		if resp.Header.Revision > f.current() {
			f.move(resp.Header.Revision)
		}
	case len(resp.Events) > 0:
		// The header's revision is that of etcd, and may be newer than the events of this response.
		last := resp.Events[len(resp.Events)-1].Kv.ModRevision
		touched := f.distribute(ctx, resp.Events)
		if last > f.current() {
			f.move(last)
		}
		for _, r := range touched {
			r.wakeWatchers()
		}
	}
}

// share is what a resource gets of a response.
type share struct {
	resource *Resource
	events   []*clientv3.Event
}

// distribute gives resources their events, to each all of a response at once. It returns those that had some.
func (f *feed) distribute(ctx context.Context, events []*clientv3.Event) []*Resource {
	known := f.current()
	var shares []share
	index := map[*Resource]int{}
	for _, event := range events {
		if event.Kv.ModRevision <= known { // seen before
			continue
		}
		r := f.store.find(event.Kv.Key)
		if r == nil {
			f.unread.Add(1)
			continue
		}
		i, ok := index[r]
		if !ok {
			i = len(shares)
			index[r] = i
			shares = append(shares, share{resource: r})
		}
		shares[i].events = append(shares[i].events, event)
	}
	touched := make([]*Resource, 0, len(shares))
	for _, s := range shares {
		if s.resource.take(ctx, s.events) {
			s.resource.counts.received.Add(int64(len(s.events)))
			touched = append(touched, s.resource)
		} else {
			f.unread.Add(int64(len(s.events)))
		}
	}
	return touched
}

// streams counts the streams that ownStream has made.
var streams atomic.Uint64

// ownStream returns a context that gives a watch a stream to etcd of its own. The client shares streams among watches with equal
// metadata, and etcd reports progress to all of a stream, when all of them are up to date.
func ownStream(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "crd-server-stream", strconv.FormatUint(streams.Add(1), 10))
}
