package crdhandler

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternal "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/endpoints/metrics"
	"k8s.io/apiserver/pkg/endpoints/request"
	utilflowcontrol "k8s.io/apiserver/pkg/util/flowcontrol"
	compbasemetrics "k8s.io/component-base/metrics"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// watchSession is one watch. It belongs to the goroutine of its request, which pulls events and writes them: a slow
// client slows down nobody else.
type watchSession struct {
	scope     *requestScope
	selection selection
	start     watchStart
	bookmarks bool
	// view and views make what the watch shows of objects.
	view    viewFunc
	views   viewsFunc
	encoder *eventEncoder
	out     eventStream
	clock   clock.WithDelayedExecution
	// deadline is when the time of the watch is up; zero: never.
	deadline time.Time

	// snapshot holds the initial objects, watcher their changes; set by open.
	snapshot *dynamicstorage.Snapshot
	watcher  *dynamicstorage.Watcher
	// begun is the revision the watch started from.
	begun int64

	// frame is what frames are made in, one after the other; nil between batches.
	frame    *[]byte
	sent     compbasemetrics.CounterMetric
	sizes    compbasemetrics.ObserverMetric
	initDone func()
}

// eventStream takes frames to the client.
type eventStream interface {
	// write takes one frame; the bytes may be used again afterwards.
	write(frame []byte) error
	// flush sends what was taken.
	flush() error
}

// measure prepares the metrics of a watch.
func (ws *watchSession) measure(ctx context.Context, opts *metainternal.ListOptions) {
	gvr := ws.scope.resource
	// Not with the context: events belong to no trace, and to ask for one would be most of what counting costs.
	ws.sent = metrics.WatchEvents.WithLabelValues(gvr.Group, gvr.Version, gvr.Resource)
	ws.sizes = metrics.WatchEventsSizes.WithLabelValues(gvr.Group, gvr.Version, gvr.Resource)
	ws.initDone = func() {
		if received, ok := request.ReceivedTimestampFrom(ctx); ok {
			metrics.RecordWatchListLatency(ctx, gvr, metrics.CleanListScope(ctx, opts), time.Since(received))
		}
	}
}

// open finds the state to start from. It waits where the client wants one that is not there yet.
func (ws *watchSession) open(ctx context.Context) error {
	resource := ws.scope.storage.resource
	ws.begun = ws.start.after
	if ws.start.initial || ws.start.after == 0 {
		snapshot, err := resource.Snapshot(ctx, ws.start.at)
		if err != nil {
			return err
		}
		ws.begun = snapshot.Revision
		if ws.start.initial {
			ws.snapshot = snapshot
		}
	}
	watcher, err := resource.WatchKeys(ctx, ws.selection.keys(), ws.begun)
	if err != nil {
		return err
	}
	ws.watcher = watcher
	return nil
}

func (ws *watchSession) close() {
	if ws.watcher != nil {
		ws.watcher.Close()
	}
}

// run serves the watch until it is over. openErr is what open returned.
func (ws *watchSession) run(ctx context.Context, openErr error) {
	err := openErr
	if err == nil {
		err = ws.serve(ctx)
	}
	switch {
	case ctx.Err() != nil, errors.Is(err, dynamicstorage.ErrClosed), errors.Is(err, errClientGone):
	default:
		ws.fail(ctx, err)
	}
}

// fail ends the watch with an ERROR event.
func (ws *watchSession) fail(ctx context.Context, err error) {
	if errors.Is(err, dynamicstorage.ErrCompacted) {
		err = apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", ws.begun, ws.current(ctx)))
	}
	frame, err := ws.encoder.failure(ws.buffer(), ws.scope.readError(err))
	if err != nil {
		klog.FromContext(ctx).Error(err, "Cannot tell a client why its watch ends")
		return
	}
	if ws.send(frame) == nil {
		_ = ws.flush()
	}
}

// current returns the present revision, as far as it is known here.
func (ws *watchSession) current(ctx context.Context) int64 {
	snapshot, err := ws.scope.storage.resource.Snapshot(ctx, dynamicstorage.ReadAt{Mode: dynamicstorage.Any})
	if err != nil {
		return ws.begun
	}
	return snapshot.Revision
}

func (ws *watchSession) serve(ctx context.Context) error {
	if err := ws.sendInitial(ctx); err != nil {
		return err
	}
	utilflowcontrol.WatchInitialized(ctx)
	timer := &bookmarkTimer{session: ws}
	defer timer.stop()
	for {
		events, err := ws.watcher.Next(timer.context(ctx))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		due := timer.due()
		if err == nil {
			err = ws.sendChanges(ctx, events)
		} else if due {
			err = nil
		}
		if err == nil && due {
			err = ws.sendBookmark(ws.watcher.Revision(), false)
		}
		if err == nil {
			err = ws.flush()
		}
		if err != nil {
			return err
		}
	}
}

// sendInitial sends the objects there are, and the mark of their end if the client wants to see it.
func (ws *watchSession) sendInitial(ctx context.Context) error {
	if ws.snapshot == nil {
		return nil
	}
	c := collector{scope: ws.scope, views: ws.views, query: pageQuery{selection: ws.selection}}
	for entry, err := range ws.selection.candidates(ctx, ws.snapshot, "") {
		if err != nil {
			return err
		}
		if c.batch = append(c.batch, entry); len(c.batch) == initialBatch {
			if err := ws.sendBatch(ctx, &c); err != nil {
				return err
			}
		}
	}
	if err := ws.sendBatch(ctx, &c); err != nil {
		return err
	}
	ws.snapshot = nil
	if ws.start.endMark {
		if err := ws.sendBookmark(ws.begun, true); err != nil {
			return err
		}
		ws.initDone()
	}
	return ws.flush()
}

// initialBatch is the number of initial objects whose views are made together.
const initialBatch = 500

// sendBatch sends the selected ones of a batch of initial objects.
func (ws *watchSession) sendBatch(ctx context.Context, c *collector) error {
	c.page = page{}
	if err := c.take(ctx); err != nil {
		return err
	}
	if len(c.corrupt) > 0 {
		return ws.scope.corruptList(c.corrupt)
	}
	for n, entry := range c.page.entries {
		if err := ws.sendObject(watch.Added, c.page.views[n], entry.Revision); err != nil {
			return err
		}
	}
	return nil
}

// sendChanges sends what a batch of changes is to the client: an object that comes to be selected is ADDED to what it
// sees, one that ceases to be is DELETED, in its last selected state (H5).
func (ws *watchSession) sendChanges(ctx context.Context, events []dynamicstorage.Event) error {
	for n := range events {
		if err := ws.sendChange(ctx, &events[n]); err != nil {
			return err
		}
	}
	return nil
}

func (ws *watchSession) sendChange(ctx context.Context, event *dynamicstorage.Event) error {
	view, err := ws.selected(ctx, event.Entry)
	if err != nil {
		return err
	}
	var old *dynamicstorage.View
	if view == nil || !ws.selection.everything() {
		if old, err = ws.selected(ctx, event.Prev); err != nil {
			return err
		}
	}
	switch {
	case view == nil && old == nil:
		return nil
	case view == nil:
		return ws.sendObject(watch.Deleted, old, event.Revision)
	case old != nil || ws.selection.everything() && event.Prev != nil:
		return ws.sendObject(watch.Modified, view, event.Entry.Revision)
	default:
		return ws.sendObject(watch.Added, view, event.Entry.Revision)
	}
}

// selected returns the view of an entry if there is one and the selection has it.
func (ws *watchSession) selected(ctx context.Context, entry *dynamicstorage.Entry) (*dynamicstorage.View, error) {
	if entry == nil {
		return nil, nil
	}
	view, err := ws.view(ctx, entry)
	if err != nil || !ws.selection.matches(entry.Key, view) {
		return nil, err
	}
	return view, nil
}

func (ws *watchSession) sendObject(eventType watch.EventType, view *dynamicstorage.View, revision int64) error {
	frame, err := ws.encoder.object(ws.buffer(), eventType, view, revision)
	if err != nil {
		return err
	}
	return ws.send(frame)
}

// buffer returns what to make the next frame in.
func (ws *watchSession) buffer() []byte {
	if ws.frame == nil {
		ws.frame = objectBuffers.Get().(*[]byte)
	}
	return (*ws.frame)[:0]
}

// send takes a frame to the stream.
func (ws *watchSession) send(frame []byte) error {
	if err := ws.out.write(frame); err != nil {
		return err
	}
	ws.sent.Inc()
	ws.sizes.Observe(float64(len(frame)))
	if cap(frame) <= maxPooledObject {
		*ws.frame = frame
	}
	return nil
}

// flush has the client see what was sent, and gives memory back that an idle watch does not need.
func (ws *watchSession) flush() error {
	if ws.frame != nil {
		objectBuffers.Put(ws.frame)
		ws.frame = nil
	}
	ws.encoder.rest()
	return ws.out.flush()
}
