package crdhandler

import (
	"context"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
)

const (
	// bookmarkPeriod is how often a watch tells its client how far it has come.
	bookmarkPeriod = time.Minute
	// bookmarkLead is how long before its end a watch does so once more.
	bookmarkLead = 2 * time.Second
)

// bookmarkTimer interrupts the wait for events when a bookmark is due.
type bookmarkTimer struct {
	session *watchSession

	current context.Context
	cancel  context.CancelFunc
	timer   clock.Timer
}

// context returns a context for waiting: that of the watch, ended when the next bookmark is due (H4). One that has ended while
// events were sent ends the next wait.
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

// due says that the time for a bookmark has come. The time for the next one begins then.
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

// nextBookmark returns when the next bookmark is due from now; false: never again.
func (ws *watchSession) nextBookmark() (time.Duration, bool) {
	if !ws.bookmarks {
		return 0, false
	}
	if ws.deadline.IsZero() {
		return bookmarkPeriod, true
	}
	left := ws.deadline.Sub(ws.clock.Now()) - bookmarkLead
	if left <= 0 {
		return 0, false
	}
	return min(bookmarkPeriod, left), true
}

// sendBookmark tells the client up to which revision it has seen everything. endsInitial marks the one that follows the
// initial objects; others are sent only when there is something new to say.
func (ws *watchSession) sendBookmark(revision int64, endsInitial bool) error {
	if !endsInitial && revision <= ws.begun {
		return nil
	}
	bookmark, err := ws.scope.newBookmark(revision, endsInitial)
	if err != nil {
		return err
	}
	frame, err := ws.encoder.encode(ws.buffer(), watch.Bookmark, bookmark)
	if err != nil {
		return err
	}
	return ws.send(frame)
}

// newBookmark returns an object with nothing but its kind and a resourceVersion.
func (s *requestScope) newBookmark(revision int64, endsInitial bool) (runtime.Object, error) {
	var obj runtime.Object
	if s.typed() {
		var err error
		if obj, err = s.objects.creater.New(s.hub.WithKind(s.kind.Kind)); err != nil {
			return nil, err
		}
	} else {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(s.kind)
		obj = u
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	m.SetResourceVersion(strconv.FormatInt(revision, 10))
	if endsInitial {
		m.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	return obj, nil
}
