package dynamicstorage

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
)

// feedWatch is one watch of the feed on etcd. The feed's goroutine uses it.
type feedWatch struct {
	feed     *feed
	progress *progressRequester
	// unproven: the watch began with the witness, and etcd has not sent that yet.
	unproven bool
	// ended is set by any goroutine.
	ended atomic.Bool
}

// end records that the watch does not follow etcd any more.
func (w *feedWatch) end() {
	w.ended.Store(true)
	w.feed.inSync.CompareAndSwap(w, nil)
}

// follow makes the watch the one that the feed follows etcd by.
func (w *feedWatch) follow() {
	w.unproven = false
	w.feed.inSync.Store(w)
	if w.ended.Load() {
		w.feed.inSync.CompareAndSwap(w, nil)
	}
	w.feed.move(w.feed.current()) // wakes the readers that wait for it
}

// handle handles a response of the watch.
func (w *feedWatch) handle(ctx context.Context, resp *clientv3.WatchResponse) error {
	f := w.feed
	if err := resp.Err(); err != nil {
		return w.failed(ctx, resp, err)
	}
	if cluster := resp.Header.ClusterId; cluster != 0 && cluster != f.cluster.Load() {
		return fmt.Errorf("%w: the watch is one of another cluster", errOtherHistory)
	}
	switch {
	case resp.Created:
		return w.confirm(ctx)
	case w.unproven:
		if err := w.prove(resp); err != nil {
			return err
		}
	}
	switch {
	case resp.IsProgressNotify():
		w.progress.answered()
		if resp.Header.Revision > f.current() {
			f.move(resp.Header.Revision)
		}
	case len(resp.Events) > 0:
		f.receive(ctx, resp.Events)
	}
	return nil
}

// failed returns the reason why the watch has failed: ErrCompacted if etcd has compacted events that the feed has not
// seen.
func (w *feedWatch) failed(ctx context.Context, resp *clientv3.WatchResponse, err error) error {
	f := w.feed
	err = etcdError(ctx, "watching etcd", err)
	if errors.Is(err, ErrCompacted) && resp.CompactRevision <= f.current() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.witness != nil {
			compacted := *f.witness
			compacted.compacted = true
			f.witness = &compacted
		}
		return fmt.Errorf("%w at %d", errWitnessCompacted, resp.CompactRevision)
	}
	return err
}

var errWitnessCompacted = errors.New("the last change was compacted")

// errStreamEnded ends a watch whose gRPC stream has ended.
var errStreamEnded = errors.New("the stream of the watch on etcd has ended")

// newWatcher returns an etcd watcher for one watch. onEnd is called when its stream ends, before the watch does.
func (s *Store) newWatcher(onEnd func()) clientv3.Watcher {
	if s.options.NewWatcher != nil {
		return s.options.NewWatcher()
	}
	conn := s.client.ActiveConnection()
	if conn == nil {
		return sharedWatcher{s.client.Watcher}
	}
	return clientv3.NewWatchFromWatchClient(&singleStream{client: pb.NewWatchClient(conn), onEnd: onEnd}, s.client)
}

// sharedWatcher is not closed by its users.
type sharedWatcher struct{ clientv3.Watcher }

func (sharedWatcher) Close() error { return nil }

// singleStream opens one stream. etcd's client would continue a watch on a new stream without saying so. But if etcd
// was restored from a backup in between, the new stream continues another history.
// See docs/upstream.md, "Watches continue on another history".
type singleStream struct {
	client pb.WatchClient
	onEnd  func()
	opened atomic.Bool
}

// Watch implements pb.WatchClient.
func (s *singleStream) Watch(ctx context.Context, options ...grpc.CallOption) (pb.Watch_WatchClient, error) {
	if s.opened.Swap(true) {
		return nil, errStreamEnded
	}
	stream, err := s.client.Watch(ctx, options...)
	if err != nil {
		return nil, err
	}
	return &endingStream{Watch_WatchClient: stream, onEnd: s.onEnd}, nil
}

// endingStream reports its end.
type endingStream struct {
	pb.Watch_WatchClient
	onEnd func()
}

// Recv implements pb.Watch_WatchClient.
func (s *endingStream) Recv() (*pb.WatchResponse, error) {
	resp, err := s.Watch_WatchClient.Recv()
	if err != nil {
		s.onEnd()
	}
	return resp, err
}
