package crds

import (
	"context"
	"errors"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/workers"
)

// finalizations is the number of CRDs that are finalized concurrently, as upstream.
const finalizations = 5

// lastRetry bounds the delay between retries.
const lastRetry = 5 * time.Second

// reconcileDelay is how long the queue waits before it reconciles a changed CRD. The replica that writes a CRD
// reconciles it before it responds; the queue is for the case that it failed in between. Without the delay the two
// would compete.
const reconcileDelay = 200 * time.Millisecond

// Lifecycle runs the life cycles of all CRDs.
type Lifecycle struct {
	*Reconciler
	deleteInstances DeleteInstances

	conditions, deletions workers.Queue[string]
	// remaining maps the name of a deleted CRD to the time.Time since which custom resources of it have remained.
	remaining sync.Map
}

// DeleteInstances deletes the custom resources of a CRD that is being deleted, without admission and respecting
// finalizers. It returns how many remain, read from a state no older than the call. If it cannot list them, the error
// should be a *crds.ListError. It is called again until nothing remains.
type DeleteInstances func(ctx context.Context, record *crds.Record) (remaining int, err error)

// NewLifecycle returns a Lifecycle that watches the table of a Reconciler. Run of the table must not have been
// called yet.
func NewLifecycle(reconciler *Reconciler, deleteInstances DeleteInstances) *Lifecycle {
	l := &Lifecycle{
		Reconciler: reconciler, deleteInstances: deleteInstances,
		conditions: workers.NewQueue[string]("crd_conditions", lastRetry),
		deletions:  workers.NewQueue[string]("crd_finalizer", lastRetry),
	}
	l.config.Table.OnChange(l.changed)
	return l
}

// Run runs the workers until ctx is done, and returns when all of them have stopped.
func (l *Lifecycle) Run(ctx context.Context) {
	defer l.conditions.ShutDown()
	defer l.deletions.ShutDown()
	select {
	case <-l.config.Table.Synced():
	case <-ctx.Done():
		return
	}
	var working sync.WaitGroup
	const failed = "Reconciling a CustomResourceDefinition failed, will retry"
	working.Go(func() { l.conditions.Work(ctx, 1, failed, l.reconcileQueued) })
	working.Go(func() { l.deletions.Work(ctx, finalizations, failed, l.finalize) })
	working.Wait()
}

// errRetry makes a worker retry later without logging an error.
var errRetry = workers.Waiting(errors.New("not finished"))

func (l *Lifecycle) reconcileQueued(ctx context.Context, name string) error {
	if record, ok := l.config.Table.Get(name); !ok || !needsReconcile(record) {
		return nil
	}
	return l.reconcile(ctx, name, false)
}

// changed adds to the queues what a change of the table requires. The table waits for it to return.
func (l *Lifecycle) changed(old, record *crds.Record) {
	same := old != nil && record != nil && old.UID == record.UID
	if old != nil && !same {
		l.release(old)
	}
	if old != nil && (!same || old.WaitsForNames() || !crds.SameNames(&old.AcceptedNames, &record.AcceptedNames)) {
		l.reconcileWaiting(old)
	}
	if record == nil {
		return
	}
	if needsReconcile(record) {
		l.conditions.AddAfter(record.Name, reconcileDelay)
	}
	if needsFinalize(record) && !(same && needsFinalize(old)) {
		l.deletions.Add(record.Name)
	}
}

// reconcileWaiting queues the CRDs of the group of changed that wait for names: changed has released names, or no
// longer precedes them.
func (l *Lifecycle) reconcileWaiting(changed *crds.Record) {
	for other := range l.config.Table.Group(changed.Group) {
		if other.Name != changed.Name && other.WaitsForNames() {
			l.conditions.Add(other.Name)
		}
	}
}

// release frees the memory of a resource that is no longer served, and ends its watches.
func (l *Lifecycle) release(record *crds.Record) {
	l.remaining.Delete(record.Name)
	if !builtIn(record) {
		l.config.Store.Resource(record.Group, record.Names.Plural).Retire()
	}
}

// needsFinalize reports whether the CRD is being deleted and its custom resources must be deleted first.
func needsFinalize(record *crds.Record) bool {
	return record.DeletionTimestamp != nil && record.HasFinalizer(apiextensionsv1.CustomResourceCleanupFinalizer)
}
