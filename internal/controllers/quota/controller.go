package quota

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota/apis/resourcequota"
	core "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/workers"
)

const (
	// concurrency is the number of quotas that are counted concurrently, as upstream.
	concurrency = 5
	// collect is how long changes of objects wait for others, so that many cause few updates.
	collect = 50 * time.Millisecond
	// settle is how long a quota must be unchanged until reservations are taken back whose objects were not stored. A
	// write takes milliseconds from its reservation to its commit.
	settle = 5 * time.Second
	// resync is how often all objects are counted again, as upstream: Pods that nobody stops are not charged for ever.
	resync = 5 * time.Minute
)

// Config configures the quotas.
type Config struct {
	Store *dynamicstorage.Store
	Table *crds.Table
	Set   *builtin.Set
	// Client is for requests to this server.
	Client *rest.Config
	// Limited is the configuration of the plugin: what is refused unless a quota limits it. It may be nil.
	Limited *resourcequota.Configuration
}

// New returns the admission plugin and the controller. It returns nil, nil, nil if quotas are not served.
func New(config Config) (*Admission, *Controller) {
	d := config.Set.Find(schema.GroupResource{Resource: plural})
	if d == nil {
		return nil, nil
	}
	requests := core.NewForConfigOrDie(config.Client)
	quotas := store{entries: config.Store.ResourceAt(d.StorageFolder()), codec: config.Set.Codec(d)}
	c := &Controller{
		store: config.Store, names: newNames(config.Table, config.Set), quotas: quotas, client: requests,
		kindsChanged: make(chan struct{}, 1), settle: settle,
	}
	config.Table.OnChange(func(old, record *crds.Record) {
		if record != nil && record.Established && (old == nil || !old.Established) {
			c.kindServed()
		}
	})
	return newAdmission(config, quotas, c.client), c
}

// Controller keeps the status of quotas. One replica runs it at a time, but several do no harm.
type Controller struct {
	store  *dynamicstorage.Store
	names  names
	quotas store
	// client writes quotas through the server's own handler, so that their status has an owner in the managed fields, as
	// upstream.
	client core.ResourceQuotasGetter
	// kindsChanged says that a kind is served that was not before.
	kindsChanged chan struct{}
	settle       time.Duration // settle, except in tests
}

// kindServed makes the controller count all quotas. It does not block.
func (c *Controller) kindServed() {
	select {
	case c.kindsChanged <- struct{}{}:
	default:
	}
}

// Run works until ctx is done, and returns when all goroutines of the controller have ended. It may be called again.
func (c *Controller) Run(ctx context.Context) {
	r := c.newRun()
	var running sync.WaitGroup
	running.Go(func() { c.quotas.entries.Follow(ctx, dynamicstorage.Follower{Changed: r.quotaChanged}) })
	running.Go(func() { r.queue.Work(ctx, concurrency, "Counting for a quota failed, will retry", r.sync) })
	again := time.NewTicker(resync)
	defer again.Stop()
	for ctx.Err() == nil {
		select {
		case <-c.kindsChanged:
			r.countAll()
		case <-again.C:
			r.forgetTallies(func(*tally) bool { return true })
			r.countAll()
		case <-ctx.Done():
		}
	}
	running.Wait()
	r.observing.Wait()
}

// run is one run of a controller.
type run struct {
	*Controller
	queue workers.Queue[string] // "<namespace>/<name>"
	// observing are the goroutines that watch counted objects. They end with the context of the run. Only sync starts
	// them.
	observing sync.WaitGroup

	// mu guards the fields below. It is not held during requests.
	mu sync.Mutex
	// namespaces are those with quotas. They have the usage of each quota.
	namespaces map[string]map[string]*usage
	// observed are the folders of counted objects that are watched.
	observed map[string]struct{}
}

func (c *Controller) newRun() *run {
	return &run{
		Controller: c, namespaces: map[string]map[string]*usage{}, observed: map[string]struct{}{},
		queue: workers.NewQueue[string]("resource_quota", time.Minute),
	}
}

// countAll queues all quotas.
func (r *run) countAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for namespace, quotas := range r.namespaces {
		for name := range quotas {
			r.queue.Add(namespace + "/" + name)
		}
	}
}

// quotaChanged follows the quotas.
func (r *run) quotaChanged(event *dynamicstorage.Event) {
	if event.Entry == nil {
		r.forget(event.Prev.Key)
		return
	}
	r.changed(event.Entry)
}

// changed queues a quota whose status is not that of its spec. After other changes, which are mostly reservations, the
// quota is counted when it has settled.
func (r *run) changed(entry *dynamicstorage.Entry) {
	namespace, name, _ := strings.Cut(entry.Key, "/")
	r.mu.Lock()
	u := r.namespaces[namespace][name]
	if u == nil {
		if r.namespaces[namespace] == nil {
			r.namespaces[namespace] = map[string]*usage{}
		}
		u = &usage{}
		r.namespaces[namespace][name] = u
	}
	u.revision, u.since = entry.Revision, time.Now()
	r.mu.Unlock()
	if quota, err := r.quotas.decode(entry); err == nil && outdated(quota) {
		r.queue.Add(entry.Key)
	}
	r.queue.AddAfter(entry.Key, r.settle)
}

func (r *run) forget(key string) {
	namespace, name, _ := strings.Cut(key, "/")
	r.mu.Lock()
	defer r.mu.Unlock()
	if delete(r.namespaces[namespace], name); len(r.namespaces[namespace]) == 0 {
		delete(r.namespaces, namespace)
	}
}

// forgetTallies makes quotas count objects again whose tallies match.
func (r *run) forgetTallies(match func(t *tally) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, quotas := range r.namespaces {
		for _, u := range quotas {
			u.tallies = slices.DeleteFunc(slices.Clone(u.tallies), match)
		}
	}
}

// observe watches the objects in a folder, if they are not watched yet.
func (r *run) observe(ctx context.Context, folder string) error {
	r.mu.Lock()
	_, observed := r.observed[folder]
	r.mu.Unlock()
	if observed {
		return nil
	}
	objects := r.store.ResourceAt(folder)
	snapshot, err := objects.Snapshot(ctx, dynamicstorage.ReadAt{Mode: dynamicstorage.Consistent})
	if err != nil {
		return fmt.Errorf("list %s: %w", folder, err)
	}
	// From here on others count at later revisions than that of the snapshot, so they miss no change.
	r.mu.Lock()
	_, observed = r.observed[folder]
	r.observed[folder] = struct{}{}
	r.mu.Unlock()
	if observed {
		return nil
	}
	r.observing.Go(func() {
		err := objects.Events(ctx, snapshot.Revision, func(events []dynamicstorage.Event) {
			for n := range events {
				r.objectChanged(folder, &events[n])
			}
		})
		r.mu.Lock()
		delete(r.observed, folder)
		r.mu.Unlock()
		if ctx.Err() == nil {
			klog.FromContext(ctx).V(1).Info("The quota controller lost a watch", "folder", folder, "err", err)
			r.forgetTallies(func(t *tally) bool { return t.folder == folder })
			r.countAll() // and watch again if the objects are served still
		}
	})
	return nil
}

// objectChanged queues the quotas that count an object.
func (r *run) objectChanged(folder string, event *dynamicstorage.Event) {
	entry := event.Entry
	if entry == nil {
		entry = event.Prev
	}
	namespace, _, _ := strings.Cut(entry.Key, "/")
	for name, tallies := range r.counting(namespace, folder) {
		for _, t := range tallies {
			switch t.observe(event) {
			case updated:
				r.queue.AddAfter(namespace+"/"+name, collect)
			case created:
				r.queue.AddAfter(namespace+"/"+name, r.settle)
			case unchanged:
			}
		}
	}
}

// counting returns the tallies of the objects in a folder for the quotas in a namespace, by the quotas' names.
func (r *run) counting(namespace, folder string) map[string][]*tally {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.namespaces[namespace]) == 0 {
		return nil
	}
	found := map[string][]*tally{}
	for name, u := range r.namespaces[namespace] {
		for _, t := range u.tallies {
			if t.folder == folder {
				found[name] = append(found[name], t)
			}
		}
	}
	return found
}
