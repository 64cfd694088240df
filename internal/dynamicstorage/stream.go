package dynamicstorage

import (
	"context"
	"errors"
	"sync/atomic"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
)

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
