package crdhandler

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternal "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/klog/v2"
	"k8s.io/streaming/pkg/httpstream/wsstream"
	"k8s.io/utils/clock"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// watchRequest is what a client asks to watch, and in which format.
type watchRequest struct {
	namespace string
	opts      *metainternal.ListOptions
	mediaType negotiation.MediaTypeOptions
}

// serveWatch streams the changes of a resource until the client has enough, the time is up, or the state the scope
// belongs to is replaced. What goes wrong before the stream begins is an ordinary answer, afterwards an ERROR event (H3).
func (s *requestScope) serveWatch(w http.ResponseWriter, req *http.Request, wr watchRequest) {
	start, err := newWatchStart(wr.opts)
	if err != nil {
		s.err(err, w, req)
		return
	}
	encoder, err := s.newEventEncoder(req, wr.mediaType)
	if err != nil {
		s.err(err, w, req)
		return
	}
	timeout := s.watchTimeout(wr.opts)
	session := &watchSession{
		scope:     s,
		selection: s.selection(wr.namespace, wr.opts),
		start:     start,
		bookmarks: wr.opts.AllowWatchBookmarks,
		view:      s.viewFor(wr.mediaType),
		views:     s.viewsFor(wr.mediaType),
		encoder:   encoder,
		clock:     clock.RealClock{},
	}
	if timeout > 0 {
		session.deadline = session.clock.Now().Add(timeout)
	}
	session.measure(req.Context(), wr.opts)
	ctx, cancel := s.watchContext(req.Context(), timeout)
	defer cancel()
	klog.FromContext(ctx).V(3).Info("Starting watch", "path", req.URL.Path, "resourceVersion", wr.opts.ResourceVersion,
		"labels", wr.opts.LabelSelector, "fields", wr.opts.FieldSelector, "timeout", timeout)
	if wsstream.IsWebSocketRequest(req) {
		s.serveWebSocket(ctx, w, req, session)
		return
	}
	s.serveStream(ctx, w, req, session)
}

// serveStream serves a watch as the body of an answer.
func (s *requestScope) serveStream(ctx context.Context, w http.ResponseWriter, req *http.Request, session *watchSession) {
	flusher, ok := w.(http.Flusher)
	if !ok {
		s.err(apierrors.NewInternalError(fmt.Errorf("unable to start watch - can't get http.Flusher: %T", w)), w, req)
		return
	}
	err := session.open(ctx)
	defer session.close()
	if errors.Is(err, dynamicstorage.ErrUnavailable) {
		s.err(s.readError(err), w, req)
		return
	}
	stream := newBodyStream(w, flusher, req, session)
	stream.begin(session.deadline)
	defer stream.end()
	defer stream.hurryAfter(ctx)()
	session.out = stream
	session.run(ctx, err)
}

// watchTimeout returns how long a watch may last: what the client wants or, so that not all come back at once, a
// random time (H4). 0: without end.
func (s *requestScope) watchTimeout(opts *metainternal.ListOptions) time.Duration {
	if opts.TimeoutSeconds != nil && *opts.TimeoutSeconds != 0 {
		return time.Duration(*opts.TimeoutSeconds) * time.Second
	}
	return time.Duration(float64(s.config.MinRequestTimeout) * (1 + rand.Float64()))
}

// watchContext returns a context that ends with the request, after the timeout, when the serving state is replaced,
// and when the server shuts down.
func (s *requestScope) watchContext(parent context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout == 0 {
		timeout = math.MaxInt64
	}
	ctx, cancel := context.WithTimeout(parent, timeout)
	var shuttingDown <-chan struct{}
	if signals := request.ServerShutdownSignalFrom(parent); signals != nil {
		shuttingDown = signals.ShuttingDown()
	}
	detach := context.AfterFunc(s.storage.watches.join(s.replaced, shuttingDown), cancel)
	return ctx, func() {
		detach()
		cancel()
		s.storage.watches.leave()
	}
}

// openWatches are the watches of a resource in one version. What ends all of them is waited for by one goroutine, while there are any:
// one for each would take as much memory as all else that an idle watch is here.
type openWatches struct {
	// mu guards the fields below.
	mu    sync.Mutex
	count int
	// ended is the context that ends with the signals; it belongs to end.
	ended context.Context
	end   context.CancelFunc
}

// join counts a watch in, and returns a context that ends when one of the channels is closed.
func (o *openWatches) join(replaced, shuttingDown <-chan struct{}) context.Context {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.count++; o.count > 1 {
		return o.ended
	}
	ended, end := context.WithCancel(context.Background())
	o.ended, o.end = ended, end
	go func() { // ended by leave at the latest
		defer end()
		select {
		case <-replaced:
		case <-shuttingDown:
		case <-ended.Done():
		}
	}()
	return ended
}

// leave counts a watch out.
func (o *openWatches) leave() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.count--; o.count == 0 {
		o.end()
		o.ended, o.end = nil, nil
	}
}

// watchStart says where a watch begins.
type watchStart struct {
	// initial asks for the objects there are, at the state at, before their changes (H2).
	initial bool
	at      dynamicstorage.ReadAt
	// endMark ends them with an annotated bookmark.
	endMark bool
	// after is the revision whose successors are watched; 0 without initial events: from now on.
	after int64
}

// newWatchStart reads the resourceVersion of a watch. Options are validated and defaulted already.
func newWatchStart(opts *metainternal.ListOptions) (watchStart, error) {
	revision, err := readRevision(opts.ResourceVersion)
	if err != nil {
		return watchStart{}, err
	}
	start := watchStart{after: revision, at: notOlderThan(revision)}
	asked := opts.SendInitialEvents
	if asked == nil {
		// Old watches, and those of old paths, begin with the objects there are unless they name a revision.
		start.initial = revision == 0
		return start, nil
	}
	start.initial = *asked
	start.endMark = *asked && opts.AllowWatchBookmarks
	if opts.ResourceVersion == "" {
		start.at = dynamicstorage.ReadAt{Mode: dynamicstorage.Consistent}
	}
	return start, nil
}
