package autoregister

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/builtin/apiregistration"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/workers"
)

// Config is the configuration of a Controller. All fields must be set.
type Config struct {
	// Store has the APIServices, which are of the Set.
	Store *dynamicstorage.Store
	Set   *builtin.Set
	// BuiltIn are the groups and versions that the server serves without CRDs.
	BuiltIn []schema.GroupVersion
	// Served returns the groups and versions that are served because of CRDs, and Serves reports whether one is.
	Served func() []schema.GroupVersion
	Serves func(schema.GroupVersion) bool
	// Ready is closed when Served and Serves know all CRDs, and the Initial APIServices exist.
	Ready <-chan struct{}
}

// Controller keeps the stored APIServices equal to the groups and versions that are served.
type Controller struct {
	config   Config
	services *dynamicstorage.Resource
	codec    *builtin.Codec
	builtIn  sets.Set[schema.GroupVersion]
	// started is set by Run before it lists what is served. There is no queue before.
	started atomic.Bool
	queue   workers.Queue[string]
	// initial are the names that were wrong at the start and are not reconciled yet. It belongs to
	// sync, which is called once at a time.
	initial sets.Set[string]
}

const (
	// coalescing is the time in which changes of a group and version are reconciled once. CRDs are often created
	// together, and many of them share a group.
	coalescing = 100 * time.Millisecond
	// all stands for all APIServices in the queue.
	all = ""
)

// NewController returns a controller. It does nothing before Run.
func NewController(config Config) *Controller {
	return &Controller{
		config:   config,
		services: config.Store.ResourceAt(apiregistration.Folder),
		codec:    config.Set.Codec(apiregistration.Definition()),
		builtIn:  sets.New(config.BuiltIn...),
		initial:  sets.New[string](),
	}
}

// Changed enqueues groups and versions that CRDs have added or removed. Serves must know of the change already.
func (c *Controller) Changed(versions ...schema.GroupVersion) {
	if !c.started.Load() {
		return // Run lists all of them
	}
	for _, version := range versions {
		c.queue.AddAfter(nameOf(version), coalescing)
	}
}

// Run reconciles until ctx is done. While nothing changes, it waits and costs nothing.
func (c *Controller) Run(ctx context.Context) {
	select {
	case <-c.config.Ready:
	case <-ctx.Done():
		return
	}
	c.queue = workers.NewQueue[string]("autoregister", time.Minute)
	defer c.queue.ShutDown()
	c.started.Store(true)
	c.queue.Add(all)
	c.queue.Work(ctx, 1, "Failed to reconcile an APIService; will retry", c.sync)
}

// sync reconciles one APIService, or enqueues all that are not as they should be.
func (c *Controller) sync(ctx context.Context, name string) error {
	if name != all {
		return c.reconcile(ctx, name)
	}
	wrong, err := c.wrong(ctx)
	if err != nil {
		return fmt.Errorf("listing: %w", err)
	}
	c.initial = wrong
	for name := range wrong {
		c.queue.Add(name)
	}
	return nil
}

func (c *Controller) wrong(ctx context.Context) (sets.Set[string], error) {
	stored, err := c.services.Snapshot(ctx, dynamicstorage.ReadAt{Mode: dynamicstorage.Consistent})
	if err != nil {
		return nil, err
	}
	wrong := sets.New[string]()
	for _, version := range slices.Concat(c.config.BuiltIn, c.config.Served()) {
		if c.wanted(version) != nil {
			wrong.Insert(nameOf(version))
		}
	}
	for entry, err := range stored.Ascend(ctx, "", "") {
		if err != nil {
			return nil, err
		}
		change, err := c.change(ctx, entry.Key, entry, true)
		if err == nil && change.Op == dynamicstorage.Keep {
			wrong.Delete(entry.Key)
		} else {
			wrong.Insert(entry.Key)
		}
	}
	return wrong, nil
}
