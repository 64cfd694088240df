package rbac

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// Index has the stored roles and bindings, by subject. Run observes them. After Follow, a write of them by this process
// is not answered before the index shows it.
type Index struct {
	// current is what decisions read.
	current atomic.Pointer[state]
	// loaded is closed when the index shows all stored objects for the first time.
	loaded chan struct{}

	// objects are what the next state is made of. Only the methods of dynamicstorage.Observer use them, which are called
	// one after the other.
	objects *objects
	scanned bool

	// mu guards the fields below.
	mu sync.Mutex
	// revision is that of the last change in current. moved is closed and replaced when it advances.
	revision int64
	moved    chan struct{}
}

// state is the grants at one time. It is immutable but for what is cached; a change of a role makes a new state too.
type state struct {
	grants *shards
	slots  *slots
	merged mergedCache
}

// NewIndex returns an index without objects.
func NewIndex() *Index {
	i := &Index{loaded: make(chan struct{}), moved: make(chan struct{}), objects: newObjects()}
	i.current.Store(i.objects.publish())
	return i
}

// Loaded returns a channel that is closed when the index has all stored objects. Until then it has none.
func (i *Index) Loaded() <-chan struct{} { return i.loaded }

// DelayWrites makes writes of the objects by this process wait until the index shows them. It is called once, before
// Run.
func (i *Index) DelayWrites(store *dynamicstorage.Store) {
	for _, folder := range folders {
		store.ResourceAt(folder).AfterWrites(i.await)
	}
}

// Run observes the objects until ctx is done.
func (i *Index) Run(ctx context.Context, store *dynamicstorage.Store) {
	store.Observe(ctx, i, folders...)
}

var _ dynamicstorage.Observer = &Index{}

// Reset implements dynamicstorage.Observer. Until the end of the scan, decisions read the last state.
func (i *Index) Reset() {
	i.objects, i.scanned = i.objects.again(), false
}

// Observe implements dynamicstorage.Observer.
func (i *Index) Observe(o dynamicstorage.Observation) {
	i.objects.apply(&o)
	if i.scanned && !o.More {
		i.publish(o.Revision)
	}
}

// Scanned implements dynamicstorage.Observer.
func (i *Index) Scanned(revision int64) {
	i.scanned = true
	i.publish(revision)
	select {
	case <-i.loaded:
	default:
		close(i.loaded)
	}
}

// publish makes the objects as of a revision current.
func (i *Index) publish(revision int64) {
	i.current.Store(i.objects.publish())
	i.mu.Lock()
	defer i.mu.Unlock()
	i.revision = max(i.revision, revision)
	close(i.moved)
	i.moved = make(chan struct{})
}

// maxWait is how long a write waits for the index. The feed is milliseconds behind etcd unless it is interrupted; then
// the write is answered before decisions follow it, as with kube-apiserver.
const maxWait = 3 * time.Second

// await waits until the index shows a revision, but not longer than maxWait.
func (i *Index) await(ctx context.Context, revision int64) {
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	for {
		i.mu.Lock()
		reached, moved := i.revision >= revision, i.moved
		i.mu.Unlock()
		if reached {
			return
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return
		}
	}
}

// collect appends the grants of a user in a namespace to grants, or those everywhere if the namespace is empty. It
// reports false if there are more than fit into the capacity.
func (s *state) collect(grants []grant, who *identity, namespace string) ([]grant, bool) {
	h := holder{name: who.name, namespace: namespace}
	more := s.grants.of(h)
	if len(more) > cap(grants) {
		return grants, false
	}
	grants = append(grants, more...)
	h.group = true
	for _, h.name = range who.groups {
		if more = s.grants.of(h); len(grants)+len(more) > cap(grants) {
			return grants, false
		}
		grants = append(grants, more...)
	}
	return grants, true
}

// all returns the grants of a user in a namespace, each binding once, in order.
func (s *state) all(who *identity, namespace string) []grant {
	h := holder{name: who.name, namespace: namespace}
	grants := slices.Clone(s.grants.of(h))
	h.group = true
	for _, h.name = range who.groups {
		grants = append(grants, s.grants.of(h)...)
	}
	slices.SortFunc(grants, compareGrants)
	return slices.CompactFunc(grants, func(a, b grant) bool { return a.binding == b.binding })
}
