package server

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"

	"github.com/crd-server/crd-server/internal/access/reviews"
	"github.com/crd-server/crd-server/internal/budget"
	"github.com/crd-server/crd-server/internal/builtin"
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
)

// newChain returns the filters around the handler. paths are the paths served besides resources.
func newChain(o *Options, a *access, p *parts, drain *filters.Drain, paths []string) *filters.Chain {
	return filters.New(&filters.Config{
		CORSOrigins: o.Serving.CORSOrigins, HSTSDirectives: o.Serving.HSTSDirectives, GoawayChance: o.Serving.GoawayChance,
		Timeout: o.Requests.Timeout, MaxInFlight: o.Requests.MaxInFlight, MaxMutatingInFlight: o.Requests.MaxMutatingInFlight,
		Memory:        budget.NewGovernor(o.Requests.memory()),
		ProbePaths:    healthPaths,
		Authenticator: a.authenticator, Unauthorized: unauthorized(filters.Codecs),
		Authorizer: a.authorizer, Audit: a.audit, Tracer: a.tracer,
		Sizes:  p.sizes,
		Labels: &filters.MetricLabels{Paths: paths, Serves: p.serves},
		Synced: p.synced, Drain: drain,
	})
}

// compose connects the parts that serve custom resources: the store feeds the informer, the informer feeds the table
// of served resources, and the table feeds everything else.
func compose(o *Options, storage *etcd.Connection, a *access) (*parts, error) {
	client := storage.Client
	storing := dynamicstorage.Options{Client: client, NewWatcher: storage.NewWatcher, Prefix: o.Etcd.Root(), Header: crds.ReadHeader,
		CheckViews: o.Etcd.CheckViews}
	if a.encryption != nil {
		storing.Transform = a.encryption
	}
	store, err := dynamicstorage.New(storing)
	if err != nil {
		return nil, fmt.Errorf("storage: %w", err)
	}
	informer := crds.NewInformer(store)
	table := crds.NewTable(informer)
	logDefinitions(table)
	folders := o.folders()
	etcd.Measure(client, folders, func(group, plural string) bool {
		_, served := table.Get(plural + "." + group)
		return served || group == crds.GroupName && plural == crds.Plural
	})
	builtins, err := builtin.NewSet(builtin.Definitions(o.builtinTier()))
	if err != nil {
		return nil, err
	}
	published := discovery.New(table, discovery.Options{
		Delegate: http.HandlerFunc(notFound), Version: apiVersion,
		Reviews: o.Aggregator.Kubeconfig == "" && o.Authorization.Kubeconfig == "", // a host cluster serves reviews itself
		Core:    o.Aggregator.Kubeconfig == "",                                     // so does it core/v1
		Builtin: builtins.Definitions,
	})
	converters, err := conversion.NewFactory(webhook.NewDefaultServiceResolver(),
		webhook.NewDefaultAuthenticationInfoResolverWrapper(nil, nil, &rest.Config{}, tracerOf(a.tracer)))
	if err != nil {
		return nil, fmt.Errorf("conversion: %w", err)
	}
	register, err := newRegistrar(&o.Aggregator, a.trust, store, table)
	if err != nil {
		return nil, err
	}
	// The handler and the lifecycle need each other: the handler waits for the lifecycle before it answers a write of
	// a CRD, and the lifecycle lets the handler delete the objects of a deleted CRD.
	var lifecycle *controllers.Lifecycle
	spaces, err := newNamespaces(a.own, store, table, builtins)
	if err != nil {
		return nil, err
	}
	config := crdhandler.Config{
		Builtin:          builtins,
		EventTTL:         o.Resources.EventTTL,
		Store:            store,
		Table:            table,
		Converters:       converters,
		Delegate:         reviews.New(a.authorizer, http.HandlerFunc(notFound)),
		GroupDiscovery:   published.Group(),
		VersionDiscovery: published.Version(),
		ReconcileDefinition: func(ctx context.Context, name string) error {
			return lifecycle.Reconcile(ctx, name)
		},
		Authorizer:              a.authorizer,
		MinRequestTimeout:       time.Duration(o.Requests.MinTimeout) * time.Second,
		GarbageCollection:       o.garbageCollection(),
		DeleteCollectionWorkers: o.Resources.DeleteCollectionWorkers,
		SchemaCacheBytes:        o.Resources.SchemaCache.Value(),
	}
	if spaces != nil && o.Admission.HasNamespaceLifecycle(true) {
		config.Namespaces = spaces.lifecycle
	}
	own := inProcess{a.own}.clientConfig()
	quotas, counter, err := quota.New(quota.Config{Store: store, Table: table, Set: builtins, Client: own})
	if err != nil {
		return nil, err
	}
	if quotas != nil && o.Admission.HasResourceQuota(true) {
		config.Quotas = quotas
	}
	if a.admission != nil {
		config.Admission = a.admission.Chain
	}
	services := newAPIServices(store, table, builtins)
	handler, err := crdhandler.New(config)
	if err != nil {
		return nil, fmt.Errorf("handler: %w", err)
	}
	lifecycle = controllers.NewLifecycle(controllers.Config{
		Store:           store,
		Table:           table,
		DeleteInstances: handler.DeleteInstances,
	})
	var led []func(ctx context.Context)
	if spaces != nil {
		led = append(led, spaces.controller.Run)
	}
	if counter != nil {
		led = append(led, counter.Run)
	}
	if o.garbageCollection() && len(builtins.Definitions) > 0 {
		collector, err := newCollector(store, table, builtins, own)
		if err != nil {
			return nil, err
		}
		led = append(led, collector.Run)
	}
	lead, err := newLead(o, own, led)
	if err != nil {
		return nil, err
	}
	return &parts{
		lead: lead,
		routes: routes{
			api: published.API(), core: published.CoreVersion(), groups: published.APIs(), resources: handler,
			openAPIV2: published.OpenAPIV2(), openAPIV3: published.OpenAPIV3(),
			served: published.Paths,
		},
		run: func(ctx context.Context) error {
			group, ctx := errgroup.WithContext(ctx)
			group.Go(func() error { return store.Run(ctx) })
			group.Go(func() error { informer.RunWithContext(ctx); return nil })
			group.Go(func() error { lifecycle.Run(ctx); return nil })
			if len(builtins.Definitions) > 0 {
				group.Go(func() error { services.Run(ctx); return nil })
			}
			group.Go(func() error { metrics.FollowStorage(ctx, store, client, folders); return nil })
			if interval := o.Etcd.CheckInterval; interval > 0 {
				group.Go(func() error { store.CheckEvery(ctx, interval); return nil })
			}
			if interval := o.Etcd.CompactionInterval; interval > 0 && len(o.Etcd.Servers) > 0 {
				group.Go(func() error { store.Compact(ctx, interval); return nil })
			}
			return group.Wait()
		},
		prepare:  spaces.ensure,
		register: register,
		ready:    store.Ready,
		synced:   table.Synced(),
		serves:   func(info *request.RequestInfo) bool { return handler.Serves(info) || reviews.Serves(info) },
		sizes: func(group, plural string) (objects int, bytes int64) {
			return store.Size(folders.Folder(schema.GroupResource{Group: group, Resource: plural}))
		},
	}, nil
}
