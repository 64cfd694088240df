package server

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"

	"github.com/crd-server/crd-server/internal/controllers"
	"github.com/crd-server/crd-server/internal/conversion"
	"github.com/crd-server/crd-server/internal/crdhandler"
	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/discovery"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/reviews"
)

// compose wires what serves custom resources: the store feeds the informer, the informer the table of served resources,
// and the table everything else.
func compose(o *Options, stored *storage, g *guards) (*parts, error) {
	client := stored.client
	storing := dynamicstorage.Options{Client: client, NewWatcher: stored.newWatcher, Prefix: o.Etcd.root(), Header: readHeader}
	if g.encryption != nil {
		storing.Transform = g.encryption
	}
	store, err := dynamicstorage.New(storing)
	if err != nil {
		return nil, fmt.Errorf("storage: %w", err)
	}
	informer := crds.NewInformer(store)
	table := crds.NewTable(informer)
	measure(client, o.Etcd.root(), table)
	gone, burst := followGone(table), newBurst(memory())
	published := discovery.New(table, discovery.Options{
		Delegate: http.HandlerFunc(notFound), Version: apiVersion,
		Reviews: o.Aggregator.Kubeconfig == "" && o.Authorization.Kubeconfig == "", // a host cluster has them itself
	})
	converters, err := conversion.NewFactory(webhook.NewDefaultServiceResolver(),
		webhook.NewDefaultAuthenticationInfoResolverWrapper(nil, nil, &rest.Config{}, tracerOf(g.tracer)))
	if err != nil {
		return nil, fmt.Errorf("conversion: %w", err)
	}
	register, err := newRegistrar(&o.Aggregator, g.trust, store, table)
	if err != nil {
		return nil, err
	}
	// The handler and the lifecycle need each other: a CRD that was written is settled before it is answered, and the
	// objects of a deleted one are deleted by the handler.
	var lifecycle *controllers.Lifecycle
	config := crdhandler.Config{
		Store:            store,
		Table:            table,
		Converters:       converters,
		Delegate:         reviews.New(g.authorizer, http.HandlerFunc(notFound)),
		GroupDiscovery:   published.Group(),
		VersionDiscovery: published.Version(),
		ReconcileDefinition: func(ctx context.Context, name string) error {
			burst.announce(garbageWritten)
			return lifecycle.Reconcile(ctx, name)
		},
		Authorizer:              g.authorizer,
		MinRequestTimeout:       time.Duration(o.Requests.MinTimeout) * time.Second,
		GarbageCollection:       o.Resources.GarbageCollection,
		DeleteCollectionWorkers: o.Resources.DeleteCollectionWorkers,
		SchemaCacheBytes:        o.Resources.SchemaCache.Value(),
	}
	if g.admission != nil {
		config.Admission = g.admission.Chain
	}
	handler, err := crdhandler.New(config)
	if err != nil {
		return nil, fmt.Errorf("handler: %w", err)
	}
	lifecycle = controllers.NewLifecycle(controllers.Config{
		Store:           store,
		Table:           table,
		DeleteInstances: handler.DeleteInstances,
	})
	return &parts{
		routes: routes{
			api: published.API(), groups: published.APIs(), resources: handler,
			openAPIV2: published.OpenAPIV2(), openAPIV3: published.OpenAPIV3(),
			served: published.Paths,
		},
		run: func(ctx context.Context) error {
			group, ctx := errgroup.WithContext(ctx)
			group.Go(func() error { return store.Run(ctx) })
			group.Go(func() error { informer.RunWithContext(ctx); return nil })
			group.Go(func() error { lifecycle.Run(ctx); return nil })
			group.Go(func() error { theStorage.follow(ctx, store, client); return nil })
			group.Go(func() error { gone.run(ctx); return nil })
			if interval := o.Etcd.CheckInterval; interval > 0 {
				group.Go(func() error { store.CheckEvery(ctx, interval); return nil })
			}
			if interval := o.Etcd.CompactionInterval; interval > 0 && len(o.Etcd.Servers) > 0 {
				group.Go(func() error { store.Compact(ctx, interval); return nil })
			}
			return group.Wait()
		},
		register: register,
		storage:  store.Ready,
		synced:   table.Synced(),
		serves:   func(info *request.RequestInfo) bool { return handler.Serves(info) || reviews.Serves(info) },
		size:     store.Size,
		burst:    burst,
	}, nil
}
