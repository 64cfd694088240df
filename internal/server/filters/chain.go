package server

import (
	"net/http"

	"github.com/go-chi/chi/v5"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/waitgroup"
	apifilters "k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/filters/impersonation"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/features"
	serverfilters "k8s.io/apiserver/pkg/server/filters"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
)

// filter is one step of the chain every request goes through.
type filter = func(http.Handler) http.Handler

// chain is what the filters need.
type chain struct {
	serving  *ServingOptions
	requests *RequestOptions
	guards   *guards
	inFlight *inFlight
	labels   *metricLabels
	// synced is closed when the custom resources are known; before, an unknown path is not yet a 404.
	synced <-chan struct{}
	drain  *drain
}

// requestInfo tells from the path and method what a request is about.
var requestInfo = &request.RequestInfoFactory{
	APIPrefixes:          sets.NewString("api", "apis"),
	GrouplessAPIPrefixes: sets.NewString("api"),
}

// longRunning are the requests without deadline; the list is kube-apiserver's.
var longRunning = serverfilters.BasicLongRunningRequestCheck(
	sets.NewString("watch", "proxy"),
	sets.NewString("attach", "exec", "proxy", "log", "portforward"),
)

// around returns the handler with all filters around it.
func (c *chain) around(handler http.Handler) http.Handler {
	return chi.Chain(c.filters()...).Handler(handler)
}

// filters returns the chain, outermost first, in kube-apiserver's order: that a request is refused with 401 before 429,
// and with 429 before 403, depends on it.
func (c *chain) filters() []filter {
	filters := []filter{
		begin,
		func(h http.Handler) http.Handler { return serverfilters.WithPanicRecovery(h, c.labels) },
		func(h http.Handler) http.Handler { return apifilters.WithMuxAndDiscoveryComplete(h, c.synced) },
		serverfilters.WithHTTPLogging,
		func(h http.Handler) http.Handler { return serverfilters.WithHSTS(h, c.serving.HSTSDirectives) },
		apifilters.WithCacheControl,
	}
	if c.serving.GoawayChance > 0 {
		filters = append(filters, func(h http.Handler) http.Handler {
			return serverfilters.WithProbabilisticGoaway(h, c.serving.GoawayChance)
		})
	}
	filters = append(filters, c.lifetime()...)
	return append(filters, c.access()...)
}

// lifetime are the filters that bound how long a request lasts.
func (c *chain) lifetime() []filter {
	return []filter{
		func(h http.Handler) http.Handler {
			return serverfilters.WithWatchTerminationDuringShutdown(h, c.drain, &c.drain.watches)
		},
		func(h http.Handler) http.Handler {
			return serverfilters.WithWaitGroup(h, longRunning, &c.drain.requests)
		},
		c.withDeadline,
		apifilters.WithWarningRecorder,
	}
}

// access are the filters that decide whether a request is served, and write down that it was.
func (c *chain) access() []filter {
	filters := []filter{
		func(h http.Handler) http.Handler {
			return serverfilters.WithCORS(h, c.serving.CORSOrigins, nil, nil, nil, "true")
		},
		c.withAuthentication,
	}
	if c.guards.tracer != nil {
		// Only those who are known may say what is traced.
		filters = append(filters, func(h http.Handler) http.Handler { return apifilters.WithTracing(h, c.guards.tracer) })
	}
	return append(filters,
		func(h http.Handler) http.Handler {
			return apifilters.WithAudit(h, c.guards.audit.Sink, c.guards.audit.Policy, longRunning)
		},
		func(h http.Handler) http.Handler {
			if utilfeature.DefaultFeatureGate.Enabled(features.ConstrainedImpersonation) {
				return impersonation.WithConstrainedImpersonation(h, c.guards.authorizer, codecs)
			}
			return impersonation.WithImpersonation(h, c.guards.authorizer, codecs)
		},
		c.inFlight.limit,
		func(h http.Handler) http.Handler {
			return apifilters.WithAuthorization(h, c.guards.authorizer, codecs)
		},
	)
}

// withAuthentication refuses whom the authenticator does not know, which is written down too.
func (c *chain) withAuthentication(next http.Handler) http.Handler {
	refused := apifilters.WithFailedAuthenticationAudit(apifilters.Unauthorized(codecs), c.guards.audit.Sink, c.guards.audit.Policy)
	known := c.guards.authenticator
	return apifilters.WithAuthentication(next, known, refused, known.Audiences, known.RequestHeaders)
}

// drain knows the requests in flight, so that stopping can wait for them.
type drain struct {
	// stopping is closed when the server was asked to stop: /readyz fails.
	stopping chan struct{}
	// ending is closed when no more requests are taken: watches end.
	ending            chan struct{}
	requests, watches waitgroup.SafeWaitGroup
}

func newDrain() *drain {
	return &drain{stopping: make(chan struct{}), ending: make(chan struct{})}
}

// ShuttingDown tells watches when to end; it implements request.ServerShutdownSignal.
func (d *drain) ShuttingDown() <-chan struct{} { return d.ending }
