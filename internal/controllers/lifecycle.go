package controllers

import (
	"context"
	"errors"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// finalizers is how many CRDs are being emptied at the same time, as upstream.
const finalizers = 5

// Retries wait between these two, longer each time.
const (
	firstRetry = 50 * time.Millisecond
	lastRetry  = 5 * time.Second
)

// Config is what a Lifecycle works with.
type Config struct {
	Store *dynamicstorage.Store
	Table *crds.Table
	// DeleteInstances deletes the objects of a CRD that is being deleted, without admission and respecting
	// finalizers, and returns how many are left, read from a state no older than the call. An error of listing them
	// should be a *crds.ListError. It is called again until nothing is left.
	DeleteInstances func(ctx context.Context, record *crds.Record) (remaining int, err error)
	// Clock is the real one if nil.
	Clock clock.PassiveClock
}

// Lifecycle runs the lives of all CRDs.
type Lifecycle struct {
	config      Config
	definitions *dynamicstorage.Resource

	postponed          postponed
	unsettled, deleted queue
	// remaining says since when objects of a deleted CRD have been left: name -> time.Time.
	remaining sync.Map
}

type queue = workqueue.TypedRateLimitingInterface[string]

// NewLifecycle returns a Lifecycle that watches the table, which must not have been started yet.
func NewLifecycle(config Config) *Lifecycle {
	if config.DeleteInstances == nil {
		panic("controllers: DeleteInstances is missing")
	}
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	l := &Lifecycle{
		config:      config,
		definitions: config.Store.Resource(crds.GroupName, crds.Plural),
		unsettled:   newQueue("crd_conditions"),
		deleted:     newQueue("crd_finalizer"),
	}
	l.postponed.take = l.lookAgain
	config.Table.OnChange(l.changed)
	return l
}

func newQueue(name string) queue {
	return workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[string](firstRetry, lastRetry),
		workqueue.TypedRateLimitingQueueConfig[string]{Name: name},
	)
}

// Settle brings the conditions of a CRD up to date and returns when the table of this replica shows the CRD as it
// then is, or no longer. The CRD endpoint calls it after every write, before it answers.
func (l *Lifecycle) Settle(ctx context.Context, name string) error {
	return l.reconcile(ctx, name, true)
}

// Run works until ctx is done, and returns when all its workers have.
func (l *Lifecycle) Run(ctx context.Context) {
	defer l.unsettled.ShutDown()
	defer l.deleted.ShutDown()
	select {
	case <-l.config.Table.Synced():
	case <-ctx.Done():
		return
	}
	var workers sync.WaitGroup
	workers.Go(func() { work(ctx, l.unsettled, l.reconcileQueued) })
	for range finalizers {
		workers.Go(func() { work(ctx, l.deleted, l.finalize) })
	}
	<-ctx.Done()
	l.unsettled.ShutDown()
	l.deleted.ShutDown()
	workers.Wait()
}

// errRetry asks for another try later without anything having gone wrong.
var errRetry = errors.New("not finished")

// work takes names off the queue until it is shut down.
func work(ctx context.Context, q queue, do func(ctx context.Context, name string) error) {
	for {
		name, stopped := q.Get()
		if stopped {
			return
		}
		err := do(ctx, name)
		switch {
		case err == nil, ctx.Err() != nil:
			q.Forget(name)
		default:
			if !errors.Is(err, errRetry) {
				klog.FromContext(ctx).Error(err, "Reconciling a CustomResourceDefinition failed, will retry", "name", name)
			}
			q.AddRateLimited(name)
		}
		q.Done(name)
	}
}

// lookAgain queues CRDs that nobody has settled in time.
func (l *Lifecycle) lookAgain(names []string) {
	for _, name := range names {
		if record, ok := l.config.Table.Get(name); ok && unsettled(record) {
			l.unsettled.Add(name)
		}
	}
}

func (l *Lifecycle) reconcileQueued(ctx context.Context, name string) error {
	if record, ok := l.config.Table.Get(name); !ok || !unsettled(record) {
		return nil // settled while it was in the queue
	}
	return l.reconcile(ctx, name, false)
}

// changed puts to the queues what a change of the table calls for. The table waits for it.
func (l *Lifecycle) changed(old, record *crds.Record) {
	same := old != nil && record != nil && old.UID == record.UID
	if old != nil && !same {
		l.release(old)
	}
	if old != nil && (!same || old.WaitsForNames() || !crds.SameNames(&old.AcceptedNames, &record.AcceptedNames)) {
		l.reexamine(old)
	}
	if record == nil {
		return
	}
	if unsettled(record) {
		l.postponed.add(record.Name)
	}
	if dying(record) && !(same && dying(old)) {
		l.deleted.Add(record.Name)
	}
}

// reexamine gives the other CRDs of a group another chance: names were given up, or the order of those who want them
// is another one.
func (l *Lifecycle) reexamine(record *crds.Record) {
	for _, other := range l.config.Table.Waiting(record.Group) {
		if other.Name != record.Name {
			l.unsettled.Add(other.Name)
		}
	}
}

// release gives back the memory of a resource that is no longer served, and ends its watches.
func (l *Lifecycle) release(record *crds.Record) {
	l.remaining.Delete(record.Name)
	if !builtIn(record) {
		l.config.Store.Resource(record.Group, record.Names.Plural).Retire()
	}
}

// dying says that a CRD is deleted, and that its objects are for us to remove first.
func dying(record *crds.Record) bool {
	return record.DeletionTimestamp != nil && record.HasFinalizer(apiextensionsv1.CustomResourceCleanupFinalizer)
}
