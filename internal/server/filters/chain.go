// Package filters is the chain of HTTP filters around the server's handlers: panics, audit, deadlines,
// authentication, limits, authorization. Most filters are kube-apiserver's own; the others are here, one a file.
//
// Begin with Chain.Handler, which has the order.
package filters

import (
	"context"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"
	"k8s.io/apimachinery/pkg/util/sets"
	apifilters "k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/filters/impersonation"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/features"
	serverfilters "k8s.io/apiserver/pkg/server/filters"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/tracing"

	"github.com/crd-server/crd-server/internal/access/audit"
	"github.com/crd-server/crd-server/internal/access/authentication"
	"github.com/crd-server/crd-server/internal/access/authorization"
	"github.com/crd-server/crd-server/internal/budget"
	"github.com/crd-server/crd-server/internal/crds"
)

// Config is what the filters need.
type Config struct {
	// CORSOrigins, HSTSDirectives and GoawayChance switch filters of kube-apiserver on.
	CORSOrigins, HSTSDirectives []string
	GoawayChance                float64
	// Timeout bounds all requests that are not long-running.
	Timeout time.Duration
	// MaxInFlight and MaxMutatingInFlight bound the reads and writes that are served at the same time; 0: no limit.
	MaxInFlight, MaxMutatingInFlight int
	// Memory bounds the memory of large requests that are served at the same time; nil: no limit.
	Memory *budget.Governor
	// ProbePaths are the health checks, which are never refused.
	ProbePaths []string

	Authenticator *authentication.Authenticator
	// Unauthorized answers requests without a valid credential.
	Unauthorized http.Handler
	Authorizer   *authorization.Authorizer
	Audit        *audit.Audit
	// Removals ends the watches of users who are removed; nil if no user can be removed.
	Removals Removals
	// Tracer is nil if requests are not traced.
	Tracer tracing.TracerProvider

	// Sizes estimates lists.
	Sizes Sizes
	// Labels decides which labels metrics of refused requests get.
	Labels *MetricLabels
	// Synced is closed when the custom resources are known; before, an unknown path gets 503 instead of 404.
	Synced <-chan struct{}
	Drain  *Drain
}

// Chain is the filters of one server.
type Chain struct {
	*Config
	inFlight *inFlight
}

// New returns the chain. It starts nothing.
func New(config *Config) *Chain {
	return &Chain{Config: config, inFlight: newInFlight(config)}
}

// Run reports metrics of requests in flight until ctx is done.
func (c *Chain) Run(ctx context.Context) { c.inFlight.report(ctx) }

// filter is one step of the chain.
type filter = func(http.Handler) http.Handler

// requestInfo derives the request info from the path and the method.
var requestInfo = &request.RequestInfoFactory{
	APIPrefixes:          sets.NewString("api", "apis"),
	GrouplessAPIPrefixes: sets.NewString("api"),
}

// longRunning reports whether a request has no deadline. The lists are kube-apiserver's.
var longRunning = serverfilters.BasicLongRunningRequestCheck(
	sets.NewString("watch", "proxy"),
	sets.NewString("attach", "exec", "proxy", "log", "portforward"),
)

// Handler returns the handler with all filters around it, in kube-apiserver's order. Clients depend on the order: 401
// comes before 429, and 429 before 403.
func (c *Chain) Handler(handler http.Handler) http.Handler {
	filters := []filter{
		func(h http.Handler) http.Handler { return begin(h, c.Memory) },
		func(h http.Handler) http.Handler { return serverfilters.WithPanicRecovery(h, c.Labels) },
		func(h http.Handler) http.Handler { return apifilters.WithMuxAndDiscoveryComplete(h, c.Synced) },
		serverfilters.WithHTTPLogging,
		func(h http.Handler) http.Handler { return serverfilters.WithHSTS(h, c.HSTSDirectives) },
		apifilters.WithCacheControl,
	}
	if c.GoawayChance > 0 {
		filters = append(filters, func(h http.Handler) http.Handler {
			return serverfilters.WithProbabilisticGoaway(h, c.GoawayChance)
		})
	}
	filters = append(filters, c.lifetime()...)
	filters = append(filters, c.access()...)
	return chi.Chain(filters...).Handler(handler)
}

// lifetime returns the filters that bound how long a request lasts.
func (c *Chain) lifetime() []filter {
	return []filter{
		func(h http.Handler) http.Handler {
			return serverfilters.WithWatchTerminationDuringShutdown(h, c.Drain, &c.Drain.watches)
		},
		func(h http.Handler) http.Handler {
			return serverfilters.WithWaitGroup(h, longRunning, &c.Drain.requests)
		},
		func(h http.Handler) http.Handler {
			return apifilters.WithRequestDeadline(h, c.Audit.Sink, c.Audit.Policy, longRunning, crds.Codecs, c.Timeout)
		},
		c.Labels.enforceDeadline,
		apifilters.WithWarningRecorder,
	}
}

// access returns the filters that decide whether a request is served, and audit it.
func (c *Chain) access() []filter {
	filters := []filter{
		func(h http.Handler) http.Handler {
			return serverfilters.WithCORS(h, c.CORSOrigins, nil, nil, nil, "true")
		},
		c.authenticate,
	}
	if c.Removals != nil {
		filters = append(filters, c.endRemoved)
	}
	if c.Tracer != nil {
		// Tracing comes after authentication: strangers must not decide what is traced.
		filters = append(filters, func(h http.Handler) http.Handler { return apifilters.WithTracing(h, c.Tracer) })
	}
	return append(filters,
		func(h http.Handler) http.Handler {
			return apifilters.WithAudit(h, c.Audit.Sink, c.Audit.Policy, longRunning)
		},
		func(h http.Handler) http.Handler {
			if utilfeature.DefaultFeatureGate.Enabled(features.ConstrainedImpersonation) {
				return impersonation.WithConstrainedImpersonation(h, c.Authorizer, crds.Codecs)
			}
			return impersonation.WithImpersonation(h, c.Authorizer, crds.Codecs)
		},
		c.inFlight.limit,
		func(h http.Handler) http.Handler {
			return apifilters.WithAuthorization(h, c.Authorizer, crds.Codecs)
		},
	)
}

// authenticate refuses requests that the authenticator rejects, and audits them.
func (c *Chain) authenticate(next http.Handler) http.Handler {
	refused := apifilters.WithFailedAuthenticationAudit(c.Unauthorized, c.Audit.Sink, c.Audit.Policy)
	known := c.Authenticator
	return apifilters.WithAuthentication(next, known, refused, known.Audiences, known.RequestHeaders)
}
