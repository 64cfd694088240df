package collector

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/time/rate"
	core "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/workers"
)

// concurrency is the number of objects, and of references, that are worked on concurrently, as upstream.
const concurrency = 20

// lastRetry bounds the delay between retries.
const lastRetry = 5 * time.Minute

// Config configures a Collector.
type Config struct {
	Store *dynamicstorage.Store
	Kinds *Kinds
	// Client is for requests to this server.
	Client *rest.Config
}

// Collector is the garbage collector. Only one may run on an etcd at a time; two do no harm, but each does the work.
type Collector struct {
	config       Config
	client       metadata.Interface
	events       core.EventsGetter
	reports      *rate.Limiter
	kindsChanged chan struct{}
}

// New returns a collector.
func New(config Config) *Collector {
	return &Collector{
		config: config, client: metadata.NewForConfigOrDie(config.Client), events: core.NewForConfigOrDie(config.Client),
		reports: rate.NewLimiter(1, 25), kindsChanged: make(chan struct{}, 1),
	}
}

// KindsChanged says that kinds may be served that were not before. It does not block.
func (c *Collector) KindsChanged() {
	select {
	case c.kindsChanged <- struct{}{}:
	default:
	}
}

// Run collects until ctx is done, and returns when all of its work has ended. The index is kept while it runs.
func (c *Collector) Run(ctx context.Context) {
	klog.FromContext(ctx).V(1).Info("Starting the garbage collector")
	r := c.newRun()
	var working sync.WaitGroup
	working.Go(func() { c.config.Store.Observe(ctx, r) })
	const failed = "Collecting garbage failed, will retry"
	working.Go(func() { r.objects.Work(ctx, concurrency, failed, r.process) })
	working.Go(func() { r.references.Work(ctx, concurrency, failed, r.verify) })
	for ctx.Err() == nil {
		select {
		case <-c.kindsChanged:
			r.retryUnserved()
		case <-ctx.Done():
		}
	}
	working.Wait()
}

// errRetry makes a worker retry later without logging an error.
var errRetry = workers.Waiting(errors.New("changed meanwhile"))

// run is one run of a collector.
type run struct {
	*Collector
	// objects has the keys of objects that are due, references those to verify.
	objects    workers.Queue[string]
	references workers.Queue[*reference]

	// mu guards the fields below. It is not held during requests.
	mu    sync.Mutex
	index *index
	// scanned: the index has all objects. Until then nothing is decided.
	scanned bool
	// stranded are the keys of due objects whose resource is not served.
	stranded map[string]struct{}
}

func (c *Collector) newRun() *run {
	r := &run{
		Collector:  c,
		objects:    workers.NewQueue[string]("garbage_collector_objects", lastRetry),
		references: workers.NewQueue[*reference]("garbage_collector_references", lastRetry),
	}
	r.Reset()
	return r
}

// retryUnserved looks again at everything whose kind was not served.
func (r *run) retryUnserved() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for ref := range r.index.unserved {
		r.index.resolve(ref)
	}
	for key := range r.stranded {
		r.objects.Add(key)
	}
	clear(r.stranded)
}
