package server

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"

	"github.com/crd-server/crd-server/internal/access/reviews"
	"github.com/crd-server/crd-server/internal/budget"
	"github.com/crd-server/crd-server/internal/builtin"
	crdlifecycle "github.com/crd-server/crd-server/internal/controllers/crds"
	"github.com/crd-server/crd-server/internal/conversion"
	"github.com/crd-server/crd-server/internal/crdhandler"
	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/discovery"
	"github.com/crd-server/crd-server/internal/server/builtins"
	"github.com/crd-server/crd-server/internal/server/filters"
	"github.com/crd-server/crd-server/internal/server/metrics"
	"github.com/crd-server/crd-server/internal/serverendpoints"
)

// components are made before the handlers and the controllers, which depend on them.
type components struct {
	options *ValidOptions
	storage *storage
	access  *access
	// client is for requests to this server.
	client *rest.Config
	// port is where the server listens.
	port int
}

// resourceServer serves custom resources and built-in resources.
type resourceServer struct {
	*resourceHandlers
	// Controllers act on built-in resources.
	*builtins.Controllers
	// run runs the storage, and the controllers that every replica runs, until ctx is done. It fails if one of them does.
	run func(ctx context.Context) error
	// lead runs the controllers that only one replica runs, until ctx is done; nil if there are none.
	lead func(ctx context.Context) error
	// register keeps the served groups registered with an aggregator until ctx is done; nil without an aggregator.
	register func(ctx context.Context) error
	// hooks are the steps of the start that health checks report.
	hooks []*hook
	// ready returns an error unless etcd answers and events arrive.
	ready func(ctx context.Context) error
	// synced is closed when all CustomResourceDefinitions that were stored before the start are known.
	synced <-chan struct{}
	// loaded is closed when all roles and bindings that were stored before the start are known; nil without them.
	loaded <-chan struct{}
	// sizes estimates the size of a resource.
	sizes filters.Sizes
}

// resourceHandlers serve what depends on resources.
type resourceHandlers struct {
	// api serves /api, core serves /api/v1, groups serves /apis, and resources serves everything below /apis and /api/v1.
	api, core, groups, resources, openAPIV2, openAPIV3 http.Handler
	// paths returns the paths of the groups and versions of custom resources, for the index at /.
	paths func() []string
	// gatherer gathers the metrics of the storage.
	gatherer prometheus.Gatherer
	// serves reports whether the resource of a request exists.
	serves func(*request.RequestInfo) bool
	// deleteInstances deletes the objects of a CRD that is being deleted.
	deleteInstances crdlifecycle.DeleteInstances
}

// composer makes the handlers and controllers, which change nothing before they run.
type composer func(c *components) (*resourceServer, error)

// compose makes the handlers, and then the controllers.
func compose(c *components) (*resourceServer, error) {
	register, err := newRegistrar(&c.options.Aggregator, c.access.trust.File, c.storage)
	if err != nil {
		return nil, err
	}
	kinds := builtinsConfig(c)
	conditions := crdlifecycle.NewReconciler(crdlifecycle.Config{Store: c.storage.store, Table: c.storage.table})
	published := discovery.New(c.storage.table, discovery.Options{
		Delegate: http.HandlerFunc(notFound), Version: documentVersion,
		Reviews: c.options.Authorization.Kubeconfig == "", // a host cluster that reviews access serves reviews itself
		Core:    c.options.Aggregator.Kubeconfig == "",    // so does any host cluster core/v1
		Builtin: c.storage.builtins.Definitions,
	})
	writes, err := builtins.NewWrites(kinds)
	if err != nil {
		return nil, err
	}
	if c.access.admission != nil {
		builtins.FollowRules(c.access.admission, kinds)
	}
	handlers, err := newHandlers(c, published, writes, conditions)
	if err != nil {
		return nil, err
	}
	definitions := crdlifecycle.NewLifecycle(conditions, handlers.deleteInstances)
	objects, err := builtins.NewSystemObjects(kinds)
	if err != nil {
		return nil, err
	}
	acting, err := builtins.NewControllers(kinds, writes, objects)
	if err != nil {
		return nil, err
	}
	lead, err := newLead(c, acting.Leading)
	if err != nil {
		return nil, err
	}
	var loaded <-chan struct{}
	if roles := c.access.roles; roles != nil {
		loaded = roles.Loaded()
	}
	return &resourceServer{
		resourceHandlers: handlers, Controllers: acting, register: register, lead: lead,
		run: newRun(c, append(acting.Everywhere, definitions.Run)), hooks: hooksOf(c), loaded: loaded,
		ready: c.storage.store.Ready, synced: c.storage.table.Synced(), sizes: c.storage.size,
	}, nil
}

// builtinsConfig returns what the built-in resources depend on.
func builtinsConfig(c *components) *builtins.Config {
	o, s := c.options, c.storage
	services := builtins.Services{
		Ranges: o.serviceRanges, NodePorts: o.Resources.ServiceNodePortRange,
		Address: o.Serving.advertised, Port: c.port, Endpoints: o.Serving.EndpointReconciler != reconcilerNone,
	}
	if len(o.Etcd.Servers) > 0 {
		services.Leases = &serverendpoints.Leases{Client: s.etcd.Client, Prefix: o.Etcd.Root()}
	}
	return &builtins.Config{
		Store: s.store, Table: s.table, Set: s.builtins, Cluster: o.builtinTier() == builtin.TierAll, Client: c.client,
		Admission: &o.Admission, Authorizer: c.access.authorizer, Roles: c.access.roles, Issuer: c.access.issuer,
		Services: services, Trust: c.access.trust, Runs: o.Resources.runsController,
		GarbageCollection: o.garbageCollection(), Identifies: o.identifies(),
	}
}

// newHandlers returns the handlers. conditions updates the conditions of a CRD that was written.
func newHandlers(
	c *components, published *discovery.Discovery, writes *builtins.Writes, conditions *crdlifecycle.Reconciler,
) (*resourceHandlers, error) {
	o, a, s := c.options, c.access, c.storage
	converters, err := conversion.NewFactory(a.services,
		webhook.NewDefaultAuthenticationInfoResolverWrapper(nil, nil, &rest.Config{}, tracerOf(a.tracer)))
	if err != nil {
		return nil, fmt.Errorf("conversion: %w", err)
	}
	config := crdhandler.Config{
		Store:      s.store,
		Table:      s.table,
		Converters: converters,
		Builtin:    s.builtins,
		Plugins:    writes.Plugins,
		Actions:    writes.Actions,
		Allocators: writes.Allocators,
		EventTTL:   o.Resources.EventTTL,
		Delegate: reviews.New(reviews.Config{
			Authorizer: a.authorizer, Delegate: http.HandlerFunc(notFound),
			Tokens: reviews.Tokens{Request: a.authenticator.Tokens, Audiences: a.authenticator.Audiences},
		}),
		GroupDiscovery:          published.Group(),
		VersionDiscovery:        published.Version(),
		ReconcileDefinition:     conditions.Reconcile,
		MinRequestTimeout:       time.Duration(o.Requests.MinTimeout) * time.Second,
		GarbageCollection:       o.garbageCollection(),
		DeleteCollectionWorkers: o.Resources.DeleteCollectionWorkers,
		ProtectDefinitions:      o.Resources.ProtectCRDs,
		WithoutWatchCache:       !o.Resources.WatchCache,
		SchemaCacheBytes:        o.Resources.SchemaCache.Value(),
	}
	config.Authorizer, config.Admission = a.authorizer, o.Extensions.admit(a.admission)
	config.Namespaces, config.Quotas = writes.Namespaces, writes.Quotas
	handler, err := crdhandler.New(config)
	if err != nil {
		return nil, fmt.Errorf("handler: %w", err)
	}
	measured := metrics.Storage{Store: s.store, Client: s.etcd.Client, Folders: s.folders}
	return &resourceHandlers{
		api: published.API(), core: published.CoreVersion(), groups: published.APIs(), resources: handler,
		openAPIV2: published.OpenAPIV2(), openAPIV3: published.OpenAPIV3(), paths: published.Paths,
		gatherer: measured.Gatherer(handler.SchemaCache()), deleteInstances: handler.DeleteInstances,
		serves: func(info *request.RequestInfo) bool { return handler.Serves(info) || reviews.Serves(info) },
	}, nil
}

// newChain returns the filters around the handler. paths are the paths served besides resources.
func newChain(o *ValidOptions, a *access, r *resourceServer, drain *filters.Drain, paths []string) *filters.Chain {
	config := &filters.Config{
		CORSOrigins: o.Serving.CORSOrigins, HSTSDirectives: o.Serving.HSTSDirectives, GoawayChance: o.Serving.GoawayChance,
		Timeout: o.Requests.Timeout, MaxInFlight: o.Requests.MaxInFlight, MaxMutatingInFlight: o.Requests.MaxMutatingInFlight,
		Memory:        budget.NewGovernor(o.Requests.memory()),
		ProbePaths:    healthPaths,
		Authenticator: a.authenticator, Unauthorized: unauthorized(crds.Codecs),
		Authorizer: a.authorizer, Audit: a.audit, Tracer: a.tracer,
		Sizes:  r.sizes,
		Labels: &filters.MetricLabels{Paths: paths, Serves: r.serves},
		Synced: r.synced, Drain: drain,
	}
	if a.removed != nil {
		config.Removals = a.removed
	}
	return filters.New(config)
}
