package server

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apiserver/pkg/audit"
	apifilters "k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"
)

// requestContext is what the filters know of a request, in one context: a context and a copy of the request for every
// piece of it would cost more than a read. Libraries find the pieces under their own keys.
type requestContext struct {
	context.Context // the server's for this request
	received        time.Time
	info            *request.RequestInfo
	audit           audit.AuditContext
	warnings        warnings
	waiting         latencies

	// deadline is set, if at all, before anybody has asked for Done.
	deadline time.Time
	// bounded is Context with the deadline. It is made, once, when somebody waits for it: most reads never do.
	once    sync.Once
	bounded atomic.Pointer[boundedContext]
}

// boundedContext is a context that ends.
type boundedContext struct {
	context.Context
	cancel context.CancelFunc
}

// The keys under which libraries look up the pieces.
var (
	infoKey     = keyOf(func(ctx context.Context) { request.RequestInfoFrom(ctx) })
	receivedKey = keyOf(func(ctx context.Context) { request.ReceivedTimestampFrom(ctx) })
	auditKey    = keyOf(func(ctx context.Context) { audit.AuditContextFrom(ctx) })
	latencyKey  = keyOf(func(ctx context.Context) { request.LatencyTrackersFrom(ctx) })
	warningsKey = keyOf(func(ctx context.Context) { warning.AddWarning(ctx, "", "") })
)

// requestContextKey is the key of the requestContext itself.
type requestContextKey struct{}

// requestContextFrom returns what the filters know; the outermost filter has seen to it that it is there.
func requestContextFrom(ctx context.Context) *requestContext {
	return ctx.Value(requestContextKey{}).(*requestContext)
}

// keyOf returns the key that a look-up asks a context for.
func keyOf(lookUp func(context.Context)) any {
	s := &keySpy{Context: context.Background()}
	lookUp(s)
	return s.key
}

// keySpy remembers what it was asked for.
type keySpy struct {
	context.Context
	key any
}

func (s *keySpy) Value(key any) any {
	s.key = key
	return nil
}

// Value implements context.Context.
func (c *requestContext) Value(key any) any {
	switch key {
	case infoKey:
		return c.info
	case receivedKey:
		return c.received
	case auditKey:
		return &c.audit
	case warningsKey:
		return &c.warnings
	case latencyKey:
		if c.info == nil || c.info.Verb == "watch" || c.info.Verb == "watchlist" {
			return nil // has no latency
		}
		return c.waiting.all()
	case requestContextKey{}:
		return c
	}
	// What derives contexts from this one asks for the one that Done belongs to.
	return c.current().Value(key)
}

// current is the server's context, with the deadline if that was needed yet.
func (c *requestContext) current() context.Context {
	if bounded := c.bounded.Load(); bounded != nil {
		return bounded
	}
	return c.Context
}

// Deadline implements context.Context.
func (c *requestContext) Deadline() (time.Time, bool) {
	if c.deadline.IsZero() {
		return c.Context.Deadline()
	}
	return c.deadline, true
}

// Done implements context.Context.
func (c *requestContext) Done() <-chan struct{} {
	if !c.deadline.IsZero() {
		c.once.Do(func() {
			ctx, cancel := context.WithDeadline(c.Context, c.deadline)
			c.bounded.Store(&boundedContext{ctx, cancel})
		})
	}
	return c.current().Done()
}

// Err implements context.Context.
func (c *requestContext) Err() error {
	c.Done() // Err is not ahead of it
	return c.current().Err()
}

// late says that the deadline has passed. Unlike Err it needs no timer.
func (c *requestContext) late() bool {
	return !c.deadline.IsZero() && !time.Now().Before(c.deadline)
}

// end releases the timer, when the request has been served. Whoever still works on it is told to stop.
func (c *requestContext) end() {
	c.once.Do(func() { c.bounded.Store(&boundedContext{ended, func() {}}) })
	c.bounded.Load().cancel()
}

// ended is the context of requests that are over.
var ended = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// warnings records warnings for the client. The recorder is apiserver's, made when there is something to record.
type warnings struct {
	once    sync.Once
	w       http.ResponseWriter // that the warnings go to; set before anybody is given the context
	context context.Context     // has the recorder
}

// AddWarning implements warning.Recorder.
func (r *warnings) AddWarning(agent, text string) {
	r.once.Do(func() {
		apifilters.WithWarningRecorder(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
			r.context = req.Context()
		})).ServeHTTP(r.w, &http.Request{})
	})
	warning.AddWarning(r.context, agent, text)
}
