package watch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/endpoints/metrics"
	"k8s.io/apiserver/pkg/endpoints/request"
	utilflowcontrol "k8s.io/apiserver/pkg/util/flowcontrol"
	compbasemetrics "k8s.io/component-base/metrics"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// session is one watch. It belongs to the goroutine of its request, which reads events and writes them: a slow client
// delays no other.
type session struct {
	Config
	start   start
	encoder *encoder
	stream  stream
	clock   clock.WithDelayedExecution
	// deadline is when the time of the watch is up; zero means never.
	deadline time.Time

	// snapshot holds the initial objects, watcher their changes; open sets both.
	snapshot *dynamicstorage.Snapshot
	watcher  *dynamicstorage.Watcher
	// begun is the revision that the watch started from.
	begun int64

	// frame is the buffer of the next frame; nil between batches.
	frame *[]byte
	// sent and sizes count events, initialized the time until the initial objects are sent.
	sent        compbasemetrics.CounterMetric
	sizes       compbasemetrics.ObserverMetric
	initialized func()
}

// stream takes frames to the client.
type stream interface {
	// write writes one frame. The caller may reuse the bytes.
	write(frame []byte) error
	// flush sends the frames that were written.
	flush() error
}

// prepareMetrics sets the session's metrics.
func (s *session) prepareMetrics(ctx context.Context) {
	gvr := s.Resource
	// Without the context: events have no trace, and looking for one costs more than counting.
	s.sent = metrics.WatchEvents.WithLabelValues(gvr.Group, gvr.Version, gvr.Resource)
	s.sizes = metrics.WatchEventsSizes.WithLabelValues(gvr.Group, gvr.Version, gvr.Resource)
	s.initialized = func() {
		if received, ok := request.ReceivedTimestampFrom(ctx); ok {
			metrics.RecordWatchListLatency(ctx, gvr, metrics.CleanListScope(ctx, s.Options), time.Since(received))
		}
	}
}

// open finds the state to start from. It waits for a revision that the server has not reached.
func (s *session) open(ctx context.Context) error {
	s.begun = s.start.after
	if s.start.initial || s.start.after == 0 {
		snapshot, err := s.Objects.Snapshot(ctx, s.start.at)
		if err != nil {
			return err
		}
		s.begun = snapshot.Revision
		if s.start.initial {
			s.snapshot = snapshot
		}
	}
	watcher, err := s.Objects.WatchKeys(ctx, s.Selection.Scope(), s.begun)
	if err != nil {
		return err
	}
	s.watcher = watcher
	return nil
}

func (s *session) close() {
	if s.watcher != nil {
		s.watcher.Close()
	}
}

// run serves the watch until it ends. openErr is the error of open.
func (s *session) run(ctx context.Context, openErr error) {
	err := openErr
	if err == nil {
		err = s.sendAll(ctx)
	}
	switch {
	case ctx.Err() != nil, errors.Is(err, dynamicstorage.ErrClosed), errors.Is(err, errClientGone):
	default:
		s.fail(ctx, err)
	}
}

// fail ends the watch with an ERROR event.
func (s *session) fail(ctx context.Context, err error) {
	if errors.Is(err, dynamicstorage.ErrCompacted) {
		err = apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", s.begun, s.current(ctx)))
	}
	frame, err := s.encoder.failure(s.buffer(), s.APIError(err))
	if err != nil {
		klog.FromContext(ctx).Error(err, "Failed to encode the ERROR event of a watch")
		return
	}
	if s.send(frame) == nil {
		_ = s.flush()
	}
}

// current returns the newest revision that the server knows.
func (s *session) current(ctx context.Context) int64 {
	snapshot, err := s.Objects.Snapshot(ctx, dynamicstorage.ReadAt{Mode: dynamicstorage.Any})
	if err != nil {
		return s.begun
	}
	return snapshot.Revision
}

// sendAll sends the initial objects, then events and bookmarks.
func (s *session) sendAll(ctx context.Context) error {
	if err := s.sendInitial(ctx); err != nil {
		return err
	}
	utilflowcontrol.WatchInitialized(ctx)
	timer := &bookmarkTimer{session: s}
	defer timer.stop()
	for {
		events, err := s.watcher.Next(timer.context(ctx))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		due := timer.due()
		if err == nil {
			err = s.sendEvents(ctx, events)
		} else if due {
			err = nil
		}
		if err == nil && due {
			err = s.sendBookmark(s.watcher.Revision(), false)
		}
		if err == nil {
			err = s.flush()
		}
		if err != nil {
			return err
		}
	}
}

// frames are the buffers that frames are encoded in.
var frames = sync.Pool{New: func() any {
	buffer := make([]byte, 0, 4<<10)
	return &buffer
}}

// maxPooledFrame is the largest buffer that is reused for other frames.
const maxPooledFrame = 64 << 10

// buffer returns the buffer of the next frame.
func (s *session) buffer() []byte {
	if s.frame == nil {
		s.frame = frames.Get().(*[]byte)
	}
	return (*s.frame)[:0]
}

// send writes a frame to the stream.
func (s *session) send(frame []byte) error {
	if err := s.stream.write(frame); err != nil {
		return err
	}
	s.sent.Inc()
	s.sizes.Observe(float64(len(frame)))
	if cap(frame) <= maxPooledFrame {
		*s.frame = frame
	}
	return nil
}

// flush sends the frames that were written, and releases the buffers that an idle watch does not need.
func (s *session) flush() error {
	if s.frame != nil {
		frames.Put(s.frame)
		s.frame = nil
	}
	s.encoder.release()
	return s.stream.flush()
}
