package watch

import (
	"context"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/crd-server/crd-server/internal/crdhandler/stored"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// initialBatch is the number of initial objects whose views are made together.
const initialBatch = 500

// sendInitial sends the initial objects, and the bookmark after them if the client asks for it.
func (s *session) sendInitial(ctx context.Context) error {
	if s.snapshot == nil {
		return nil
	}
	var batch []*dynamicstorage.Entry
	for entry, err := range s.Selection.Candidates(ctx, s.snapshot, "") {
		if err != nil {
			return err
		}
		if batch = append(batch, entry); len(batch) == initialBatch {
			if err := s.sendBatch(ctx, batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	if err := s.sendBatch(ctx, batch); err != nil {
		return err
	}
	s.snapshot = nil
	if s.start.endMark {
		if err := s.sendBookmark(s.begun, true); err != nil {
			return err
		}
		s.initialized()
	}
	return s.flush()
}

// sendBatch sends the selected ones of a batch of initial objects.
func (s *session) sendBatch(ctx context.Context, batch []*dynamicstorage.Entry) error {
	views, err := s.Views(ctx, batch)
	if err != nil {
		return err
	}
	if corrupt := stored.AllUnreadable(batch, views); len(corrupt) > 0 {
		return corrupt
	}
	for n, entry := range batch {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !s.Selection.Matches(entry.Key, views[n]) {
			continue
		}
		if err := s.sendObject(watch.Added, views[n], entry.Revision); err != nil {
			return err
		}
	}
	return nil
}

// sendEvents sends a batch of events.
func (s *session) sendEvents(ctx context.Context, events []dynamicstorage.Event) error {
	for n := range events {
		if err := s.sendEvent(ctx, &events[n]); err != nil {
			return err
		}
	}
	return nil
}

// sendEvent sends an event as the client sees it: an object that enters the selection is ADDED, one that leaves it is
// DELETED, in its last selected state (H5).
func (s *session) sendEvent(ctx context.Context, event *dynamicstorage.Event) error {
	view, err := s.selected(ctx, event.Entry)
	if err != nil {
		return err
	}
	var old *dynamicstorage.View
	if view == nil || !s.Selection.Everything() {
		if old, err = s.selected(ctx, event.Prev); err != nil {
			return err
		}
	}
	switch {
	case view == nil && old == nil:
		return nil
	case view == nil:
		return s.sendObject(watch.Deleted, old, event.Revision)
	case old != nil || s.Selection.Everything() && event.Prev != nil:
		return s.sendObject(watch.Modified, view, event.Entry.Revision)
	default:
		return s.sendObject(watch.Added, view, event.Entry.Revision)
	}
}

// selected returns the view of an entry; nil if there is no entry or it is not selected.
func (s *session) selected(ctx context.Context, entry *dynamicstorage.Entry) (*dynamicstorage.View, error) {
	if entry == nil {
		return nil, nil
	}
	view, err := s.View(ctx, entry)
	if err != nil || !s.Selection.Matches(entry.Key, view) {
		return nil, err
	}
	return view, nil
}

// sendObject sends an event about an object.
func (s *session) sendObject(eventType watch.EventType, view *dynamicstorage.View, revision int64) error {
	frame, err := s.encoder.object(s.buffer(), eventType, view, revision)
	if err != nil {
		return err
	}
	return s.send(frame)
}
