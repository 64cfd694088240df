package serviceaccounts

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	core "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/workers"
)

const (
	// concurrency is the number of namespaces that are worked on concurrently.
	concurrency = 2
	// all stands for all namespaces in the queue.
	all = ""
)

// Config configures a Controller.
type Config struct {
	Store *dynamicstorage.Store
	Set   *builtin.Set
	// Client is of this server, as a user that may do everything.
	Client *rest.Config
	// TrustFile has the authority by which clients recognise the server.
	TrustFile string
	// Fixed says that TrustFile never changes.
	Fixed bool
	// Accounts and Roots select what the controller keeps.
	Accounts, Roots bool
}

// Controller keeps the account "default" and the ConfigMap "kube-root-ca.crt" of each namespace. One replica runs it at
// a time, but several do no harm. It holds no objects: while nothing changes it costs nothing.
type Controller struct {
	config     Config
	namespaces *dynamicstorage.Resource
	client     core.CoreV1Interface
}

// NewController returns a controller. It does nothing before Run.
func NewController(config Config) *Controller {
	client := core.NewForConfigOrDie(config.Client)
	return &Controller{config: config, namespaces: config.Store.ResourceAt(namespaceFolder), client: client}
}

// Run works until ctx is done, and returns when all goroutines of the controller have ended. It may be called again.
func (c *Controller) Run(ctx context.Context) {
	if !c.config.Accounts && !c.config.Roots {
		return
	}
	roots, follow, err := c.readRoots()
	if err != nil {
		klog.FromContext(ctx).Error(err, "The authority of the server is not published", "file", c.config.TrustFile)
		return
	}
	r := &run{Controller: c, roots: roots, queue: workers.NewQueue[string]("serviceaccount", time.Minute)}
	roots.AddListener(r)
	var running sync.WaitGroup
	running.Go(func() { follow(ctx) })
	running.Go(func() { c.config.Store.Follow(ctx, concerns, r) })
	r.queue.Work(ctx, concurrency, "Giving a namespace its account and root certificate failed, will retry", r.sync)
	running.Wait()
}

// readRoots reads the authority of the server. follow reads it again when it changes, until ctx is done.
func (c *Controller) readRoots() (
	roots dynamiccertificates.CAContentProvider, follow func(ctx context.Context), err error,
) {
	const name = "root-ca"
	if !c.config.Fixed {
		changing, err := dynamiccertificates.NewDynamicCAContentFromFile(name, c.config.TrustFile)
		return changing, func(ctx context.Context) { changing.Run(ctx, 1) }, err
	}
	pem, err := os.ReadFile(c.config.TrustFile)
	if err != nil {
		return nil, nil, err
	}
	roots, err = dynamiccertificates.NewStaticCAContent(name, pem)
	return roots, func(context.Context) {}, err
}

// run is one run of a controller.
type run struct {
	*Controller
	roots dynamiccertificates.CAContentProvider
	// queue has the names of namespaces, or all.
	queue workers.Queue[string]
}

// Enqueue implements dynamiccertificates.Listener: the authority has changed.
func (r *run) Enqueue() { r.Reset() }

// Reset implements dynamicstorage.Observer: events may have been lost.
func (r *run) Reset() { r.queue.Add(all) }

// Scanned implements dynamicstorage.Observer.
func (r *run) Scanned(int64) {}

// Observe implements dynamicstorage.Observer. It queues the namespace of an object that may have to be written.
func (r *run) Observe(o dynamicstorage.Observation) {
	parts := strings.Split(o.Key, "/")
	isNamespace := parts[0] == namespaceFolder
	isAccount := parts[0] == accountFolder
	if isNamespace && o.Deleted || isAccount && !o.Deleted {
		return
	}
	r.queue.Add(parts[1])
}

// The folders of the resources.
const (
	namespaceFolder = "namespaces"
	accountFolder   = "serviceaccounts"
	mapFolder       = "configmaps"
)

// concerns reports whether a key is that of a namespace, or of an object that the controller keeps.
func concerns(key string) bool {
	folder, rest, _ := strings.Cut(key, "/")
	switch folder {
	case namespaceFolder:
		return !strings.Contains(rest, "/")
	case accountFolder:
		return strings.HasSuffix(rest, "/"+accountName)
	case mapFolder:
		return strings.HasSuffix(rest, "/"+mapName)
	}
	return false
}

// queueAll queues all namespaces.
func (r *run) queueAll(ctx context.Context) error {
	snapshot, err := r.namespaces.Snapshot(ctx, dynamicstorage.ReadAt{Mode: dynamicstorage.Consistent})
	if err != nil {
		return fmt.Errorf("list namespaces: %w", err)
	}
	for entry, err := range snapshot.Ascend(ctx, "", "") {
		if err != nil {
			return fmt.Errorf("list namespaces: %w", err)
		}
		if !entry.Header.Deleting {
			r.queue.Add(entry.Key)
		}
	}
	return nil
}

// sync writes what is missing or wrong in a namespace, unless it is being deleted. The cache of namespaces is at least
// as new as the event that queued the namespace.
func (r *run) sync(ctx context.Context, namespace string) error {
	if namespace == all {
		return r.queueAll(ctx)
	}
	entry, _, err := r.namespaces.Get(ctx, namespace, dynamicstorage.ReadAt{Mode: dynamicstorage.Any})
	if errors.Is(err, dynamicstorage.ErrNotFound) || err == nil && entry.Header.Deleting {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read namespace: %w", err)
	}
	var errs []error
	if r.config.Accounts {
		errs = append(errs, r.syncAccount(ctx, namespace))
	}
	if r.config.Roots {
		errs = append(errs, r.syncMap(ctx, namespace))
	}
	return errors.Join(errs...)
}
