// Package watch serves one watch of a resource: its events, its bookmarks, and the stream that takes them to the
// client.
//
// Begin at watch.go: Serve prepares a session and runs it over a response body or a websocket (stream.go).
// session.go has the life of a watch, events.go chooses what the client sees of a change, encoder.go encodes it, and
// bookmarks.go says when bookmarks are due. The events come from a Watcher of internal/dynamicstorage.
package watch

import (
	"context"
	"math"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	metainternal "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/klog/v2"
	"k8s.io/streaming/pkg/httpstream/wsstream"
	"k8s.io/utils/clock"

	"github.com/crd-server/crd-server/internal/crdhandler/printing"
	"github.com/crd-server/crd-server/internal/crdhandler/selection"
	"github.com/crd-server/crd-server/internal/crdhandler/stored"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// Config is what a watch needs of its endpoint and its request.
type Config struct {
	// Resource labels the metrics.
	Resource schema.GroupVersionResource
	// Objects is the resource in the storage, Selection says which of its objects are watched.
	Objects   *dynamicstorage.Resource
	Selection selection.Selection
	// Options are validated and defaulted.
	Options *metainternal.ListOptions
	// Endpoint and MediaType say how events are encoded.
	Endpoint  *printing.Endpoint
	MediaType *negotiation.MediaTypeOptions

	// View and Views return what the watch shows of entries.
	View  stored.ViewFunc
	Views stored.ViewsFunc
	// Protobuf is set if the views are protobuf, for a watch in protobuf: the kind of the objects.
	Protobuf *runtime.TypeMeta
	// Decode returns the object of a view; of JSON only.
	Decode func(view *dynamicstorage.View, revision int64) (runtime.Object, error)
	// NewObject returns an object of the endpoint without any fields, for bookmarks.
	NewObject func() (runtime.Object, error)
	// APIError returns the API error for an error of the storage.
	APIError func(err error) error

	// MinTimeout is the shortest time a watch lasts if its client does not set one; 0 means without end.
	MinTimeout time.Duration
	// Replaced ends when the endpoint is replaced. Its watches end then, and when the server shuts down.
	Replaced context.Context
	// Shutdown is shared by all watches of a server.
	Shutdown *Shutdown
}

// Serve streams the changes of a resource until the client goes away, the time is up, the endpoint is replaced, or the
// server shuts down. It returns an error that occurs before the stream begins, for an ordinary response; a later one
// becomes an ERROR event (H3).
func Serve(w http.ResponseWriter, req *http.Request, c Config) error {
	start, err := newStart(c.Options)
	if err != nil {
		return err
	}
	encoder, err := newEncoder(req, &c)
	if err != nil {
		return err
	}
	s := &session{Config: c, start: start, encoder: encoder, clock: clock.RealClock{}}
	timeout := c.timeout()
	if timeout > 0 {
		s.deadline = s.clock.Now().Add(timeout)
	}
	s.prepareMetrics(req.Context())
	ctx, cancel := c.context(req.Context(), timeout)
	defer cancel()
	klog.FromContext(ctx).V(3).Info("Starting watch", "path", req.URL.Path, "resourceVersion", c.Options.ResourceVersion,
		"labels", c.Options.LabelSelector, "fields", c.Options.FieldSelector, "timeout", timeout)
	if wsstream.IsWebSocketRequest(req) {
		s.serveWebSocket(ctx, w, req)
		return nil
	}
	return s.serveBody(ctx, w, req)
}

// timeout returns how long the watch may last; 0 means without end. If the client does not set it, it is random, so
// that not all clients reconnect at once (H4).
func (c *Config) timeout() time.Duration {
	if c.Options.TimeoutSeconds != nil && *c.Options.TimeoutSeconds != 0 {
		return time.Duration(*c.Options.TimeoutSeconds) * time.Second
	}
	return time.Duration(float64(c.MinTimeout) * (1 + rand.Float64()))
}

// context returns a context that ends with the request, after the timeout, when the endpoint is replaced, and when the
// server shuts down.
func (c *Config) context(parent context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout == 0 {
		timeout = math.MaxInt64
	}
	ctx, cancel := context.WithTimeout(parent, timeout)
	stopReplaced := context.AfterFunc(c.Replaced, cancel)
	stopShutdown := context.AfterFunc(c.Shutdown.context(parent), cancel)
	return ctx, func() {
		stopReplaced()
		stopShutdown()
		cancel()
	}
}

// start says where a watch begins.
type start struct {
	// initial says that the watch begins with the objects of the state at, before their changes (H2).
	initial bool
	at      dynamicstorage.ReadAt
	// endMark says that a bookmark with the annotation k8s.io/initial-events-end follows the initial objects.
	endMark bool
	// after is the revision after which changes are sent; 0 without initial objects: the current one.
	after int64
}

// newStart reads the resourceVersion of a watch. Options are validated and defaulted.
func newStart(opts *metainternal.ListOptions) (start, error) {
	revision, err := selection.ParseResourceVersion(opts.ResourceVersion)
	if err != nil {
		return start{}, err
	}
	s := start{after: revision, at: selection.NotOlderThan(revision)}
	if opts.SendInitialEvents == nil {
		// Without the option, a watch begins with the objects there are unless it names a revision.
		s.initial = revision == 0
		return s, nil
	}
	s.initial = *opts.SendInitialEvents
	s.endMark = s.initial && opts.AllowWatchBookmarks
	if opts.ResourceVersion == "" {
		s.at = dynamicstorage.ReadAt{Mode: dynamicstorage.Consistent}
	}
	return s, nil
}

// Shutdown is the server's shutdown signal as a context. One goroutine waits for the signal on behalf of all watches:
// one for each would take as much memory as all else of an idle watch. The zero value is ready for use; a nil
// Shutdown never ends.
type Shutdown struct {
	// start guards ended: the first watch sets it.
	start sync.Once
	ended context.Context
}

// context returns a context that ends when the server that serves ctx shuts down.
func (s *Shutdown) context(ctx context.Context) context.Context {
	if s == nil {
		return context.Background()
	}
	s.start.Do(func() {
		s.ended = context.Background()
		signal := request.ServerShutdownSignalFrom(ctx)
		if signal == nil {
			return
		}
		ended, end := context.WithCancel(context.Background())
		s.ended = ended
		go func() { // ends when the server shuts down
			<-signal.ShuttingDown()
			end()
		}()
	})
	return s.ended
}
