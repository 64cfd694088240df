package e2e

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

// lastRegion is the name of the region whose event ends all watches.
const lastRegion = "last"

// follower watches regions, and starts the next watch where the last one ended.
type follower struct {
	*traffic
	regions dynamic.ResourceInterface
	// ended is closed after the event of the last region. The goroutine owns the fields below until then.
	ended    chan struct{}
	revision string
	events   []seen
	begun    int
}

// seen is one event.
type seen struct {
	kind     watch.EventType
	name     string
	revision uint64
}

// follow starts a watch after a revision. It ends with the event of the last region, or with the test.
func follow(tr *traffic, revision string) *follower {
	f := &follower{traffic: tr, regions: tr.client().Resource(resources["Region"]), ended: make(chan struct{}),
		revision: revision}
	ctx, cancel := context.WithCancel(tr.Context())
	go func() { // ends with the context
		defer close(f.ended)
		wait.UntilWithContext(ctx, func(ctx context.Context) {
			if f.watch(ctx) {
				cancel()
			}
		}, pollInterval)
	}()
	tr.Cleanup(func() { cancel(); <-f.ended })
	return f
}

// watch watches until the server ends it, or until the event of the last region; then it returns true.
func (f *follower) watch(ctx context.Context) bool {
	watching, err := f.regions.Watch(ctx, metav1.ListOptions{ResourceVersion: f.revision})
	if err != nil {
		if ctx.Err() == nil {
			f.note(err)
		}
		return false
	}
	defer watching.Stop()
	f.begun++
	for event := range watching.ResultChan() {
		object, ok := event.Object.(*unstructured.Unstructured)
		if !ok || event.Type == watch.Error {
			f.note(apierrors.FromObject(event.Object))
			return false
		}
		f.revision = object.GetResourceVersion()
		f.events = append(f.events, seen{event.Type, object.GetName(), revisionOf(object)})
		if object.GetName() == lastRegion {
			return true
		}
	}
	return false
}

// finish waits for the event of the last region.
func (f *follower) finish() {
	f.Helper()
	select {
	case <-f.ended:
	case <-time.After(patience):
		f.Fatalf("a watch never sees the last region; it began %d times", f.begun)
	}
}

// informed is a client-go informer of regions.
type informed struct {
	*traffic
	informer cache.SharedIndexInformer

	mu sync.Mutex // guards revisions
	// revisions are those of its events.
	revisions map[string]bool
}

// inform starts an informer, which ends with the test.
func inform(tr *traffic) *informed {
	tr.Helper()
	i := &informed{traffic: tr, revisions: map[string]bool{}}
	factory := dynamicinformer.NewDynamicSharedInformerFactory(tr.client(), 0)
	i.informer = factory.ForResource(resources["Region"]).Informer()
	told := func(object any) {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.revisions[object.(*unstructured.Unstructured).GetResourceVersion()] = true
	}
	if _, err := i.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: told,
		UpdateFunc: func(_, object any) { told(object) }}); err != nil {
		tr.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	factory.Start(ctx.Done())
	tr.Cleanup(func() { cancel(); factory.Shutdown() })
	if !cache.WaitForCacheSync(tr.Context().Done(), i.informer.HasSynced) {
		tr.Fatal("the informer does not sync")
	}
	return i
}

// missing returns the acknowledged writes for which the informer had no event.
func (i *informed) missing() (missed []string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for revision, what := range i.acknowledged {
		if !i.revisions[revision] {
			missed = append(missed, revision+" "+what)
		}
	}
	return missed
}

// finish waits until the informer has the regions, by name and revision, and no others, and was told of all that was
// acknowledged.
func (i *informed) finish(revisions map[string]string) {
	i.Helper()
	same := func(context.Context) (bool, error) {
		kept := i.informer.GetStore().List()
		for _, object := range kept {
			if object := object.(*unstructured.Unstructured); revisions[object.GetName()] != object.GetResourceVersion() {
				return false, nil
			}
		}
		return len(kept) == len(revisions) && len(i.missing()) == 0, nil
	}
	if err := wait.PollUntilContextTimeout(i.Context(), pollInterval, patience, true, same); err != nil {
		i.Errorf("the informer keeps %d regions of %d, and was not told of %q", len(i.informer.GetStore().ListKeys()),
			len(revisions), i.missing())
	}
}
