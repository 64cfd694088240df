package server

import (
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crd-server/crd-server/internal/leader"
	"github.com/crd-server/crd-server/internal/server/builtins"
)

// controllerNames are the names of the controllers that can be selected.
var controllerNames = []string{
	builtins.RoleController, builtins.GarbageCollector, builtins.NamespaceController, builtins.QuotaController,
	builtins.RootController, builtins.AccountController, builtins.PolicyController,
}

// runsController reports whether --controllers selects a controller. The first element that is about it decides, as in
// kube-controller-manager.
func (o *ResourceOptions) runsController(name string) bool {
	for _, element := range o.Controllers {
		switch element {
		case name:
			return true
		case "-" + name:
			return false
		}
	}
	return slices.Contains(o.Controllers, "*")
}

// newRun returns a function that runs the storage and some controllers, until ctx is done or something fails.
func newRun(c *components, all []builtins.Run) func(ctx context.Context) error {
	s, o := c.storage, c.options
	if removed := c.access.removed; removed != nil {
		secrets := s.folders.Folder(schema.GroupResource{Resource: "secrets"})
		all = append(all, func(ctx context.Context) { removed.Run(ctx, s.store, secrets) })
	}
	if interval := o.Etcd.CheckInterval; interval > 0 {
		all = append(all, func(ctx context.Context) { s.store.CheckEvery(ctx, interval) })
	}
	if interval := o.Etcd.CompactionInterval; interval > 0 {
		all = append(all, func(ctx context.Context) { s.store.Compact(ctx, interval) })
	}
	all = append(all, s.table.Run)
	return func(ctx context.Context) error {
		group, ctx := errgroup.WithContext(ctx)
		group.Go(func() error { return s.store.Run(ctx) })
		for _, run := range all {
			group.Go(func() error { run(ctx); return nil })
		}
		return group.Wait()
	}
}

// leaderLease is held by the replica that runs the controllers that must not run twice.
const leaderLease = "crd-server-controllers"

// newLead returns a function that runs controllers while this replica leads, until ctx is done; nil without
// controllers. With an etcd in this process there are no other replicas.
func newLead(c *components, all []builtins.Run) (func(ctx context.Context) error, error) {
	if len(all) == 0 {
		return nil, nil
	}
	runAll := func(ctx context.Context) {
		var running sync.WaitGroup
		for _, run := range all {
			running.Go(func() { run(ctx) })
		}
		running.Wait()
	}
	if len(c.options.Etcd.Servers) == 0 {
		return func(ctx context.Context) error { runAll(ctx); return nil }, nil
	}
	lock, err := leader.NewLock(c.client, "kube-system", leaderLease)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error { return leader.Run(ctx, lock, runAll) }, nil
}
