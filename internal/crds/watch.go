package crds

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// WatchWithContext returns the changes after a revision. The watch ends with its context or Stop, or with an Expired
// error if events have been compacted, after which the reflector lists again.
func (s *source) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	after, err := strconv.ParseInt(options.ResourceVersion, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("watching CustomResourceDefinitions after %q: %w", options.ResourceVersion, err)
	}
	watcher, err := s.resource.Watch(ctx, after)
	if err != nil {
		return nil, watchError(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	w := &recordWatch{watcher: watcher, results: make(chan watch.Event), cancel: cancel}
	go w.run(ctx, after)
	return w, nil
}

func watchError(err error) error {
	if errors.Is(err, dynamicstorage.ErrCompacted) {
		return apierrors.NewResourceExpired("the revision to watch from has been compacted")
	}
	return fmt.Errorf("watching CustomResourceDefinitions: %w", err)
}

// recordWatch turns the events of a resource into records. Its goroutine is stopped by Stop or its context.
type recordWatch struct {
	watcher *dynamicstorage.Watcher
	results chan watch.Event
	cancel  context.CancelFunc
}

// Stop ends the watch. It may be called more than once and concurrently.
func (w *recordWatch) Stop() { w.cancel() }

// ResultChan is closed when the watch has ended.
func (w *recordWatch) ResultChan() <-chan watch.Event { return w.results }

func (w *recordWatch) run(ctx context.Context, after int64) {
	defer close(w.results)
	defer w.watcher.Close()
	defer w.cancel()
	// The list before this watch delivered its records in no order. Now all of them have been delivered.
	complete := newProgress(after)
	complete.listed = true
	if !w.send(ctx, watch.Deleted, complete) {
		return
	}
	for {
		events, err := w.watcher.Next(ctx)
		if err != nil {
			w.end(ctx, err)
			return
		}
		for n := range events {
			if !w.forward(ctx, &events[n]) {
				return
			}
		}
	}
}

func (w *recordWatch) forward(ctx context.Context, event *dynamicstorage.Event) bool {
	if event.Entry == nil {
		return w.send(ctx, watch.Deleted, newTombstone(event.Prev.Key, event.Revision))
	}
	record := recordOf(ctx, event.Entry)
	switch {
	case record == nil:
		return w.send(ctx, watch.Deleted, newProgress(event.Revision))
	case event.Prev == nil:
		return w.send(ctx, watch.Added, record)
	default:
		return w.send(ctx, watch.Modified, record)
	}
}

func (w *recordWatch) send(ctx context.Context, kind watch.EventType, record *Record) bool {
	select {
	case w.results <- watch.Event{Type: kind, Object: record}:
		return true
	case <-ctx.Done():
		return false
	}
}

// end sends the error that ends the watch. Unless it is a compaction, the reflector may watch again from where it was.
func (w *recordWatch) end(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	var status *apierrors.StatusError
	if !errors.As(watchError(err), &status) {
		klog.FromContext(ctx).V(2).Info("The watch of CustomResourceDefinitions ended", "err", err)
		status = apierrors.NewInternalError(err)
	}
	select {
	case w.results <- watch.Event{Type: watch.Error, Object: &status.ErrStatus}:
	case <-ctx.Done():
	}
}

// progressName is not the name of a CRD: those contain no slash.
const progressName = "/progress"

// newProgress returns a record that passes the informer as the deletion of a CRD that does not exist. It tells the
// table that all changes up to its revision have been delivered.
func newProgress(revision int64) *Record { return newTombstone(progressName, revision) }

// newTombstone returns the record of a deletion: the name and the revision of the deletion.
func newTombstone(name string, revision int64) *Record {
	r := &Record{Revision: revision}
	r.Name = name
	r.ResourceVersion = strconv.FormatInt(revision, 10)
	return r
}
