package watch

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	metainternal "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/etcdtest"
)

// TestBookmarks is not parallel: bookmarks have etcd's revision, which other tests would advance.
func TestBookmarks(t *testing.T) {
	w := newTimedWatch(t)
	revision := w.put("b")
	w.expect(`{"type":"ADDED"`)
	for _, step := range []time.Duration{time.Minute, 28 * time.Second} {
		w.awaitTimer()
		w.clock.Step(step)
		w.expect(bookmarkAt(revision))
	}
}

// TestBookmarkDuringEvents checks that a bookmark that becomes due while events are sent follows them. It is
// not parallel for the same reason.
func TestBookmarkDuringEvents(t *testing.T) {
	w := newTimedWatch(t)
	w.awaitTimer()
	w.flushing = sync.OnceFunc(func() { w.clock.Step(time.Minute) })
	revision := w.put("b")
	w.expect(`{"type":"ADDED"`)
	w.expect(bookmarkAt(revision))
}

func bookmarkAt(revision int64) string {
	return fmt.Sprintf(`{"type":"BOOKMARK","object":{"apiVersion":"example.com/v1","kind":"Gadget",`+
		`"metadata":{"resourceVersion":"%d"}}}`+"\n", revision)
}

// timedWatch is a watch of gadgets with bookmarks that ends after 90 seconds of a fake clock. It is the stream of its
// session.
type timedWatch struct {
	*testing.T
	clock *testingclock.FakeClock
	// flushing is called before frames are flushed.
	flushing func()
	pending  string
	flushed  chan string
}

func newTimedWatch(t *testing.T) *timedWatch {
	t.Helper()
	w := &timedWatch{
		T: t, clock: testingclock.NewFakeClock(time.Now()), flushing: func() {}, flushed: make(chan string, 10),
	}
	store, err := dynamicstorage.New(dynamicstorage.Options{Client: etcd.Client, Prefix: etcd.Prefix(t)})
	if err != nil {
		t.Fatal(err)
	}
	etcdtest.Run(t, store.Run)
	opts := &metainternal.ListOptions{ResourceVersion: fmt.Sprint(w.put("a")), AllowWatchBookmarks: true}
	s := newSession(t, store.Resource("example.com", "gadgets"), httptest.NewRequest(http.MethodGet, "/", nil), opts)
	s.stream, s.clock, s.deadline = w, w.clock, w.clock.Now().Add(90*time.Second)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { // ends with ctx
		defer close(done)
		s.run(ctx, s.open(ctx))
	}()
	t.Cleanup(func() { cancel(); <-done; s.close() })
	return w
}

// put stores a gadget, and returns its revision.
func (w *timedWatch) put(name string) int64 {
	w.Helper()
	response, err := etcd.Client.Put(w.Context(), etcd.Prefix(w)+"/example.com/gadgets/ns/"+name,
		string(gadget(name, 0)))
	if err != nil {
		w.Fatal(err)
	}
	return response.Header.Revision
}

func (w *timedWatch) write(frame []byte) error { w.pending += string(frame); return nil }

func (w *timedWatch) flush() error {
	if w.pending != "" {
		w.flushing()
		w.flushed <- w.pending
		w.pending = ""
	}
	return nil
}

// expect waits for the next frames, and compares their beginning.
func (w *timedWatch) expect(prefix string) {
	w.Helper()
	select {
	case got := <-w.flushed:
		if !strings.HasPrefix(got, prefix) {
			w.Fatalf("got %s, want %s", got, prefix)
		}
	case <-w.Context().Done():
		w.Fatalf("nothing was sent, want %s", prefix)
	}
}

// awaitTimer waits until the session has started the timer of the next bookmark.
func (w *timedWatch) awaitTimer() {
	w.Helper()
	for !w.clock.HasWaiters() {
		select {
		case <-w.Context().Done():
			w.Fatal("the session waits for no bookmark")
		case <-time.After(time.Millisecond):
		}
	}
}
