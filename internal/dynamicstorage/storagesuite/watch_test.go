package storagesuite

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/storage"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// bookmarkPeriod is the interval of bookmarks. A watch of the past begins anew after it, and etcd brings such watches
// up to date every 100 ms. With a shorter interval, a late watch might never end.
const bookmarkPeriod = 200 * time.Millisecond

// watching is a watch.Interface on a Watcher.
type watching struct {
	adapter  *adapter
	watcher  *dynamicstorage.Watcher
	place    string
	opts     storage.ListOptions
	snapshot *dynamicstorage.Snapshot // has the initial objects; nil: none are sent
	marked   int64                    // the revision of the last bookmark, or where the watch began
	results  chan watch.Event
	stop     context.CancelFunc
}

func (w *watching) ResultChan() <-chan watch.Event { return w.results }

func (w *watching) Stop() { w.stop() }

func (a *adapter) Watch(ctx context.Context, of string, opts storage.ListOptions) (watch.Interface, error) {
	place, err := key(of, opts.Recursive)
	if err != nil {
		return nil, err
	}
	w := &watching{adapter: a, place: place, opts: opts, results: make(chan watch.Event, 100)}
	ctx, w.stop = context.WithCancel(ctx)
	done := a.use()
	err = w.open(ctx)
	if err != nil && ctx.Err() == nil {
		done()
		w.stop()
		return nil, failure(err, of)
	}
	go func() {
		defer done()
		defer close(w.results)
		if err == nil {
			defer w.watcher.Close()
			w.run(ctx)
		}
	}()
	return w, nil
}

// open finds the initial state: that of the resourceVersion, or the present one.
func (w *watching) open(ctx context.Context) error {
	at, err := readAt(w.opts.ResourceVersion)
	if err != nil {
		return err
	}
	w.marked = at.Revision
	initial := at.Revision == 0
	if asked := w.opts.SendInitialEvents; asked != nil {
		initial = *asked
	}
	if initial || at.Revision == 0 {
		s, err := w.adapter.resource.Snapshot(ctx, at)
		if err != nil {
			return err
		}
		if w.marked = s.Revision; initial {
			w.snapshot = s
		}
	}
	w.watcher, err = w.adapter.resource.Watch(ctx, w.marked)
	return err
}

// run sends events until the watch is stopped, or has failed.
func (w *watching) run(ctx context.Context) {
	err := w.sendInitial(ctx)
	for err == nil {
		var events []dynamicstorage.Event
		wait, cancel := context.WithTimeout(ctx, bookmarkPeriod)
		events, err = w.watcher.Next(wait)
		cancel()
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			err = w.sendBookmark(ctx, w.watcher.Revision(), false)
		}
		for n := range events {
			if err == nil {
				err = w.sendChange(ctx, &events[n])
			}
		}
	}
	if ctx.Err() == nil && !errors.Is(err, dynamicstorage.ErrClosed) {
		_ = w.send(ctx, watch.Event{Type: watch.Error, Object: status(err)})
	}
}

// status returns the Status that a client gets for an error.
func status(err error) *metav1.Status {
	var api apierrors.APIStatus
	if err = failure(err, ""); errors.As(err, &api) {
		s := api.Status()
		return &s
	}
	return &metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError,
		Reason: metav1.StatusReasonInternalError, Message: err.Error()}
}

func (w *watching) covers(name string) bool {
	if w.opts.Recursive {
		return strings.HasPrefix(name, w.place)
	}
	return name == w.place
}

func (w *watching) sendInitial(ctx context.Context) error {
	if w.snapshot == nil {
		return nil
	}
	for e, err := range w.snapshot.Ascend(ctx, w.place, "") {
		if err != nil {
			return err
		}
		pod, err := w.selected(ctx, e, e.Revision)
		if pod != nil {
			err = w.send(ctx, watch.Event{Type: watch.Added, Object: pod})
		}
		if err != nil {
			return err
		}
	}
	if asked := w.opts.SendInitialEvents; asked != nil && w.opts.Predicate.AllowWatchBookmarks {
		return w.sendBookmark(ctx, w.snapshot.Revision, true)
	}
	return nil
}

// selected returns the object of an entry at a revision, if the watch selects it.
func (w *watching) selected(ctx context.Context, e *dynamicstorage.Entry, revision int64) (*example.Pod, error) {
	if e == nil || !w.covers(e.Key) {
		return nil, nil
	}
	pod, err := w.adapter.object(ctx, e, revision)
	if err != nil {
		return nil, err
	}
	if matches, err := w.opts.Predicate.Matches(pod); !matches || err != nil {
		return nil, err
	}
	return pod, nil
}

func (w *watching) sendChange(ctx context.Context, e *dynamicstorage.Event) error {
	if e.Entry == nil && e.Prev.Err != nil && w.covers(e.Prev.Key) {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure,
			Code:   http.StatusInternalServerError,
			Reason: metav1.StatusReasonStoreReadError, Message: "saw a DELETED event, but object data is corrupt"}}
	}
	pod, err := w.selected(ctx, e.Entry, e.Revision)
	if err != nil {
		return err
	}
	old, err := w.selected(ctx, e.Prev, e.Revision)
	switch {
	case err != nil:
		return err
	case pod == nil && old == nil:
		return nil
	case pod == nil:
		return w.send(ctx, watch.Event{Type: watch.Deleted, Object: old})
	case old == nil:
		return w.send(ctx, watch.Event{Type: watch.Added, Object: pod})
	}
	return w.send(ctx, watch.Event{Type: watch.Modified, Object: pod})
}

// sendBookmark sends a bookmark if the revision is new and bookmarks are requested, or if it marks the end of the
// initial objects.
func (w *watching) sendBookmark(ctx context.Context, revision int64, endsInitial bool) error {
	wanted := w.opts.Predicate.AllowWatchBookmarks || w.opts.ProgressNotify
	if !endsInitial && (!wanted || revision <= w.marked) {
		return nil
	}
	w.marked = revision
	bookmark := &example.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: resourceVersion(revision)}}
	if endsInitial {
		bookmark.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	return w.send(ctx, watch.Event{Type: watch.Bookmark, Object: bookmark})
}

func (w *watching) send(ctx context.Context, event watch.Event) error {
	select {
	case w.results <- event:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
