package server

import (
	"context"
	"sync"

	"k8s.io/client-go/rest"

	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/collector"
	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/leader"
)

// controllersLease is held by the replica that runs the controllers that must not run twice.
const controllersLease = "crd-server-controllers"

// newCollector returns the garbage collector. client is for requests to this server.
func newCollector(
	store *dynamicstorage.Store, table *crds.Table, builtins *builtin.Set, client *rest.Config,
) (*collector.Collector, error) {
	c, err := collector.New(collector.Config{
		Store: store, Kinds: collector.NewServedKinds(table, builtins.Definitions), Client: client,
	})
	if err != nil {
		return nil, err
	}
	table.OnChange(func(old, record *crds.Record) {
		if record != nil && record.Established && (old == nil || !old.Established || old.SpecHash != record.SpecHash) {
			c.KindsChanged()
		}
	})
	return c, nil
}

// newLead returns a function that runs controllers while this replica leads, until ctx is done; nil without
// controllers. With the embedded etcd there are no other replicas.
func newLead(
	o *ValidOptions, client *rest.Config, controllers []func(ctx context.Context),
) (func(ctx context.Context) error, error) {
	if len(controllers) == 0 {
		return nil, nil
	}
	runAll := func(ctx context.Context) {
		var running sync.WaitGroup
		for _, run := range controllers {
			running.Go(func() { run(ctx) })
		}
		running.Wait()
	}
	if len(o.Etcd.Servers) == 0 {
		return func(ctx context.Context) error { runAll(ctx); return nil }, nil
	}
	lock, err := leader.NewLock(client, "kube-system", controllersLease)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error { return leader.Run(ctx, lock, runAll) }, nil
}
