package watch

import (
	"context"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
)

const (
	// bookmarkPeriod is the time between bookmarks.
	bookmarkPeriod = time.Minute
	// bookmarkLead is the time between the last bookmark and the end of the watch.
	bookmarkLead = 2 * time.Second
)

// bookmarkTimer interrupts the wait for events when a bookmark is due.
type bookmarkTimer struct {
	session *session

	current context.Context
	cancel  context.CancelFunc
	timer   clock.Timer
}

// context returns a context for waiting: ctx, ended when the next bookmark is due (H4). If it ends while events are
// sent, it ends the next wait.
func (t *bookmarkTimer) context(ctx context.Context) context.Context {
	if t.current != nil {
		return t.current
	}
	next, ok := t.session.nextBookmark()
	if !ok {
		return ctx
	}
	t.current, t.cancel = context.WithCancel(ctx)
	t.timer = t.session.clock.AfterFunc(next, t.cancel)
	return t.current
}

// due reports whether a bookmark is due. If it is, the time for the next one begins.
func (t *bookmarkTimer) due() bool {
	if t.current == nil || t.current.Err() == nil {
		return false
	}
	t.stop()
	return true
}

func (t *bookmarkTimer) stop() {
	if t.timer != nil {
		t.timer.Stop()
		t.cancel()
	}
	t.current, t.timer = nil, nil
}

// nextBookmark returns the time until the next bookmark is due; false means never.
func (s *session) nextBookmark() (time.Duration, bool) {
	if !s.Options.AllowWatchBookmarks {
		return 0, false
	}
	if s.deadline.IsZero() {
		return bookmarkPeriod, true
	}
	left := s.deadline.Sub(s.clock.Now()) - bookmarkLead
	if left <= 0 {
		return 0, false
	}
	return min(bookmarkPeriod, left), true
}

// sendBookmark sends a bookmark: the client has seen everything up to revision. endsInitial marks the one after the
// initial objects; others are sent only if the revision has moved since the watch began.
func (s *session) sendBookmark(revision int64, endsInitial bool) error {
	if !endsInitial && revision <= s.begun {
		return nil
	}
	bookmark, err := s.NewObject()
	if err != nil {
		return err
	}
	m, err := meta.Accessor(bookmark)
	if err != nil {
		return err
	}
	m.SetResourceVersion(strconv.FormatInt(revision, 10))
	if endsInitial {
		m.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	frame, err := s.encoder.encode(s.buffer(), watch.Bookmark, bookmark)
	if err != nil {
		return err
	}
	return s.send(frame)
}
