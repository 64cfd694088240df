package server

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/crd-server/crd-server/internal/access/authorization/rbac"
	"github.com/crd-server/crd-server/internal/access/reviews"
	"github.com/crd-server/crd-server/internal/budget"
	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/builtin/apiregistration"
	"github.com/crd-server/crd-server/internal/clustertrust"
	"github.com/crd-server/crd-server/internal/controllers"
	"github.com/crd-server/crd-server/internal/conversion"
	"github.com/crd-server/crd-server/internal/crdhandler"
	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/discovery"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/quota"
	"github.com/crd-server/crd-server/internal/server/etcd"
	"github.com/crd-server/crd-server/internal/server/filters"
	"github.com/crd-server/crd-server/internal/server/metrics"
	"github.com/crd-server/crd-server/internal/serviceaccounts"
	"github.com/crd-server/crd-server/internal/users"
)

// newChain returns the filters around the handler. paths are the paths served besides resources.
func newChain(o *Options, a *access, p *parts, drain *filters.Drain, paths []string) *filters.Chain {
	config := &filters.Config{
		CORSOrigins: o.Serving.CORSOrigins, HSTSDirectives: o.Serving.HSTSDirectives, GoawayChance: o.Serving.GoawayChance,
		Timeout: o.Requests.Timeout, MaxInFlight: o.Requests.MaxInFlight, MaxMutatingInFlight: o.Requests.MaxMutatingInFlight,
		Memory:        budget.NewGovernor(o.Requests.memory()),
		ProbePaths:    healthPaths,
		Authenticator: a.authenticator, Unauthorized: unauthorized(filters.Codecs),
		Authorizer: a.authorizer, Audit: a.audit, Tracer: a.tracer,
		Sizes:  p.sizes,
		Labels: &filters.MetricLabels{Paths: paths, Serves: p.serves},
		Synced: p.synced, Drain: drain,
	}
	if a.removed != nil {
		config.Removals = a.removed
	}
	return filters.New(config)
}

// compose connects the parts that serve custom resources and built-in resources.
func compose(o *Options, storage *etcd.Connection, a *access) (*parts, error) {
	s, err := newStored(o, storage, a)
	if err != nil {
		return nil, err
	}
	register, err := newRegistrar(&o.Aggregator, a.trust, s.store, s.table)
	if err != nil {
		return nil, err
	}
	own := inProcess{a.own}.clientConfig()
	spaces, err := newNamespaces(a.own, s.store, s.table, s.builtins)
	if err != nil {
		return nil, err
	}
	if err := addChecks(&o.Admission, s, a.authorizer, own); err != nil {
		return nil, err
	}
	published := newDiscovery(o, s)
	quotas, counter, err := newQuotas(&o.Admission, s, own)
	if err != nil {
		return nil, err
	}
	roles, err := newRoles(o, a, s, own)
	if err != nil {
		return nil, err
	}
	p := handlerParts{published: published, spaces: spaces, quotas: quotas, counter: counter, roles: roles}
	handler, lifecycle, err := newHandler(o, a, s, p)
	if err != nil {
		return nil, err
	}
	if a.accounts != nil {
		if a.accounts.bound.Objects, err = serviceaccounts.NewObjects(s.store, s.builtins, own); err != nil {
			return nil, err
		}
	}
	lead, err := newLeading(o, a, s, p)
	if err != nil {
		return nil, err
	}
	system := newSystemObjects(s)
	services := newAPIServices(s.store, s.table, s.builtins, system.exist)
	if err := system.addAll(o, a, services, roles); err != nil {
		return nil, err
	}
	trust, err := newTrust(a, s)
	if err != nil {
		return nil, err
	}
	endpoints, err := newEndpoints(o, storage, a, s)
	if err != nil {
		return nil, err
	}
	identify, err := newIdentity(o, a, s)
	if err != nil {
		return nil, err
	}
	measured := metrics.Storage{Store: s.store, Client: storage.Client, Folders: s.folders}
	return &parts{
		routes: routes{
			api: published.API(), core: published.CoreVersion(), groups: published.APIs(), resources: handler,
			openAPIV2: published.OpenAPIV2(), openAPIV3: published.OpenAPIV3(),
			served: published.Paths, metrics: []prometheus.Gatherer{measured.Gatherer()},
		},
		run:       newRun(o, s, everywhere{lifecycle, services, a.removed, a.roles, trust}),
		prepare:   inOrder(system.create, roles.ensure),
		lead:      lead,
		identify:  identify,
		register:  register,
		endpoints: endpoints,
		hooks:     hooksOf(o, s),
		ready:     s.store.Ready,
		synced:    s.table.Synced(),
		loaded:    followRoles(a.roles, s.store),
		serves:    func(info *request.RequestInfo) bool { return handler.Serves(info) || reviews.Serves(info) },
		sizes: func(group, plural string) (objects int, bytes int64) {
			return s.store.Size(s.folders.Folder(schema.GroupResource{Group: group, Resource: plural}))
		},
	}, nil
}

// stored are the parts that know what is stored, and of which resources: the store feeds the informer, the informer
// feeds the table of served CRDs, and the table feeds everything else.
type stored struct {
	store    *dynamicstorage.Store
	informer cache.SharedIndexInformer
	table    *crds.Table
	builtins *builtin.Set
	folders  *etcd.Folders
}

func newStored(o *Options, storage *etcd.Connection, a *access) (*stored, error) {
	storing := dynamicstorage.Options{
		Client: storage.Client, NewWatcher: storage.NewWatcher, Prefix: o.Etcd.Root(), Header: crds.ReadHeader,
		CheckViews: o.Etcd.CheckViews, Logger: o.Logger,
	}
	if o.InMemory {
		storing.AskFor = inMemoryAskFor
	}
	if a.encryption != nil {
		storing.Transform = a.encryption
	}
	store, err := dynamicstorage.New(storing)
	if err != nil {
		return nil, fmt.Errorf("storage: %w", err)
	}
	definitions, err := o.builtinDefinitions()
	if err != nil {
		return nil, err
	}
	builtins, err := builtin.NewSet(definitions)
	if err != nil {
		return nil, err
	}
	informer := crds.NewInformer(store)
	table := crds.NewTable(informer)
	logDefinitions(table, o.Logger)
	s := &stored{store: store, informer: informer, table: table, builtins: builtins, folders: o.folders()}
	etcd.Measure(storage.Client, s.folders, func(group, plural string) bool {
		_, served := table.Get(plural + "." + group)
		return served || group == crds.GroupName && plural == crds.Plural
	})
	return s, nil
}

func newDiscovery(o *Options, s *stored) *discovery.Discovery {
	return discovery.New(s.table, discovery.Options{
		Delegate: http.HandlerFunc(notFound), Version: documentVersion,
		Reviews: o.Authorization.Kubeconfig == "", // a host cluster that reviews access serves reviews itself
		Core:    o.Aggregator.Kubeconfig == "",    // so does any host cluster core/v1
		Builtin: s.builtins.Definitions,
	})
}

// resourceHandler serves resources.
type resourceHandler interface {
	http.Handler
	Serves(info *request.RequestInfo) bool
}

// handlerParts are the parts that the handler and the controllers need besides what is stored. All but the first
// are nil without the resources that they are for.
type handlerParts struct {
	published *discovery.Discovery
	spaces    *namespaceParts
	quotas    *quota.Admission
	counter   *quota.Controller
	roles     *roleParts
}

// newHandler returns the handler of resources, and the lifecycle of CRDs. They need each other: the handler waits for
// the lifecycle before it answers a write of a CRD, and the lifecycle lets the handler delete the objects of a deleted
// CRD.
func newHandler(o *Options, a *access, s *stored, p handlerParts) (resourceHandler, *controllers.Lifecycle, error) {
	converters, err := conversion.NewFactory(a.services,
		webhook.NewDefaultAuthenticationInfoResolverWrapper(nil, nil, &rest.Config{}, tracerOf(a.tracer)))
	if err != nil {
		return nil, nil, fmt.Errorf("conversion: %w", err)
	}
	actions, err := addPodActions(a.accounts.actions(), s, inProcess{a.own}.clientConfig())
	if err != nil {
		return nil, nil, err
	}
	var lifecycle *controllers.Lifecycle
	config := crdhandler.Config{
		Builtin:          s.builtins,
		Actions:          actions,
		Allocators:       newAllocators(&o.Resources, s),
		EventTTL:         o.Resources.EventTTL,
		Store:            s.store,
		Table:            s.table,
		Converters:       converters,
		Delegate:         newReviews(a),
		GroupDiscovery:   p.published.Group(),
		VersionDiscovery: p.published.Version(),
		ReconcileDefinition: func(ctx context.Context, name string) error {
			return lifecycle.Reconcile(ctx, name)
		},
		MinRequestTimeout:       time.Duration(o.Requests.MinTimeout) * time.Second,
		GarbageCollection:       o.garbageCollection(),
		DeleteCollectionWorkers: o.Resources.DeleteCollectionWorkers,
		WithoutWatchCache:       !o.Resources.WatchCache,
		SchemaCacheBytes:        o.Resources.SchemaCache.Value(),
	}
	config.Authorizer = a.authorizer
	if p.spaces != nil && o.Admission.HasNamespaceLifecycle(true) {
		config.Namespaces = p.spaces.lifecycle
	}
	if p.quotas != nil && o.Admission.HasResourceQuota(true) {
		config.Quotas = p.quotas
	}
	if a.admission != nil {
		config.Admission = a.admission
		followRules(a.admission, s)
	}
	config.Admission = o.Extensions.admit(config.Admission)
	handler, err := crdhandler.New(config)
	if err != nil {
		return nil, nil, fmt.Errorf("handler: %w", err)
	}
	lifecycle = controllers.NewLifecycle(controllers.Config{
		Store: s.store, Table: s.table, DeleteInstances: handler.DeleteInstances,
	})
	return handler, lifecycle, nil
}

// newReviews returns the handler of reviews, after which nothing is served.
func newReviews(a *access) http.Handler {
	return reviews.New(reviews.Config{
		Authorizer: a.authorizer, Delegate: http.HandlerFunc(notFound),
		Tokens: reviews.Tokens{Request: a.authenticator.Tokens, Audiences: a.authenticator.Audiences},
	})
}

// newLeading returns a function that runs the controllers that only one replica runs, while this one leads; nil if
// there are none.
func newLeading(o *Options, a *access, s *stored, p handlerParts) (func(ctx context.Context) error, error) {
	own := inProcess{a.own}.clientConfig()
	var led []func(ctx context.Context)
	if p.spaces != nil && o.Resources.runsController(namespaceController) {
		led = append(led, p.spaces.controller.Run)
	}
	if p.counter != nil && o.Resources.runsController(quotaController) {
		led = append(led, p.counter.Run)
	}
	if p.roles != nil && o.Resources.runsController(roleController) {
		led = append(led, p.roles.controller.Run)
	}
	accounts := o.Resources.runsController(accountController) || o.Resources.runsController(rootController)
	if a.accounts != nil && accounts {
		controller, err := newAccountController(o, a, s)
		if err != nil {
			return nil, err
		}
		led = append(led, controller.Run)
	}
	if o.garbageCollection() && o.Resources.runsController(garbageCollector) && len(s.builtins.Definitions) > 0 {
		collector, err := newCollector(s.store, s.table, s.builtins, own)
		if err != nil {
			return nil, err
		}
		led = append(led, collector.Run)
	}
	policies, err := newPolicyStatus(s, own)
	if err != nil {
		return nil, err
	}
	if policies != nil && o.Resources.runsController(policyController) {
		led = append(led, policies.Run)
	}
	return newLead(o, own, led)
}

// everywhere are the controllers that every replica runs.
type everywhere struct {
	lifecycle *controllers.Lifecycle
	services  *apiregistration.Controller
	removed   *users.Removed // nil without Secrets
	// roles are nil without built-in resources.
	roles *rbac.Index
	// trust is nil without ConfigMaps.
	trust *clustertrust.Controller
}

// newRun returns a function that runs what every replica runs, until ctx is done or something fails.
func newRun(o *Options, s *stored, c everywhere) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		group, ctx := errgroup.WithContext(ctx)
		group.Go(func() error { return s.store.Run(ctx) })
		group.Go(func() error { s.informer.RunWithContext(ctx); return nil })
		group.Go(func() error { c.lifecycle.Run(ctx); return nil })
		if secrets := s.folders.Folder(schema.GroupResource{Resource: "secrets"}); c.removed != nil {
			group.Go(func() error { c.removed.Run(ctx, s.store, secrets); return nil })
		}
		if len(s.builtins.Definitions) > 0 {
			group.Go(func() error { c.services.Run(ctx); return nil })
		}
		if c.roles != nil {
			group.Go(func() error { c.roles.Run(ctx, s.store); return nil })
		}
		if c.trust != nil {
			group.Go(func() error { c.trust.Run(ctx); return nil })
		}
		if interval := o.Etcd.CheckInterval; interval > 0 {
			group.Go(func() error { s.store.CheckEvery(ctx, interval); return nil })
		}
		if interval := o.Etcd.CompactionInterval; interval > 0 {
			group.Go(func() error { s.store.Compact(ctx, interval); return nil })
		}
		return group.Wait()
	}
}
