package namespaces

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	core "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/workers"
)

const (
	// concurrency is the number of namespaces that are deleted concurrently, as upstream.
	concurrency = 10
	// remainingRetry is how long objects may remain before the controller tries again and renews the conditions, as
	// upstream. It tries again at once when the last object is gone.
	remainingRetry = 8 * time.Second
)

// Config configures a Controller.
type Config struct {
	// Namespaces is where namespaces are stored.
	Namespaces *dynamicstorage.Resource
	// Client is of this server, as a user that may do everything.
	Client *rest.Config
	// Resources returns the namespaced resources that are served now.
	Resources func() []Resource
}

// Controller deletes the content of namespaces that are being deleted, and then their finalizer "kubernetes", as the
// namespace controller of kube-controller-manager does. It also creates the system namespaces when they are missing.
// One replica runs it at a time, but several do no harm.
type Controller struct {
	namespaces *dynamicstorage.Resource
	client     core.NamespaceInterface
	deleter    *deleter
	retry      time.Duration // remainingRetry, except in tests
}

// NewController returns a controller. It does nothing before Run.
func NewController(config Config) *Controller {
	c := core.NewForConfigOrDie(config.Client)
	return &Controller{
		namespaces: config.Namespaces,
		client:     c.Namespaces(),
		deleter: &deleter{
			rest: c.RESTClient(), resources: config.Resources, slots: semaphore.NewWeighted(maxParallel),
		},
		retry: remainingRetry,
	}
}

// Run works until ctx is done, and returns when all goroutines of the controller have ended. It may be called again.
func (c *Controller) Run(ctx context.Context) {
	r := &run{Controller: c, queue: workers.NewQueue[string]("namespace", time.Minute)}
	var running sync.WaitGroup
	running.Go(func() {
		c.namespaces.Follow(ctx, dynamicstorage.Follower{Begin: r.queueSystem, Changed: r.changed})
	})
	r.queue.Work(ctx, concurrency, "Reconciling a namespace failed, will retry", r.process)
	running.Wait()
	r.waiting.Wait()
}

// run is one run of a controller.
type run struct {
	*Controller
	queue workers.Queue[string]
	// waiting are the goroutines of wait, which end with the context of the run. Only process starts them.
	waiting sync.WaitGroup
	// waits has the names of the namespaces that they wait for.
	waits sync.Map
}

func (r *run) queueSystem() {
	for _, name := range systemNamespaces {
		r.queue.Add(name)
	}
}

// changed queues a namespace when its deletion begins, and a system namespace when it is deleted. Later changes are
// mostly those of the controller.
func (r *run) changed(event *dynamicstorage.Event) {
	switch entry, prev := event.Entry, event.Prev; {
	case entry == nil:
		if slices.Contains(systemNamespaces, prev.Key) {
			r.queue.Add(prev.Key)
		}
	case entry.Header.Deleting && (prev == nil || !prev.Header.Deleting):
		r.queue.Add(entry.Key)
	}
}

// process syncs a namespace, and waits for what is left in it.
func (r *run) process(ctx context.Context, name string) error {
	left, err := r.sync(ctx, name)
	if err == nil && len(left) > 0 {
		r.wait(ctx, name, left)
	}
	return err
}

// wait queues a namespace again when resources have no objects in it any more, or after a while.
func (r *run) wait(ctx context.Context, name string, resources []*dynamicstorage.Resource) {
	if _, waits := r.waits.LoadOrStore(name, true); waits {
		return
	}
	r.waiting.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, r.retry)
		defer cancel()
		for _, objects := range resources {
			if err := waitEmpty(ctx, objects, name); err != nil && !errors.Is(err, dynamicstorage.ErrClosed) {
				<-ctx.Done() // an error of etcd: the next attempt is not urgent
			}
		}
		r.waits.Delete(name)
		r.queue.Add(name)
	})
}

// sync deletes the content of a namespace that is being deleted, writes the conditions, and removes the finalizer if
// nothing is left. It returns the resources that have objects left.
func (c *Controller) sync(ctx context.Context, name string) ([]*dynamicstorage.Resource, error) {
	namespace, err := c.client.Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, c.recreate(ctx, name)
	case err != nil:
		return nil, err
	case namespace.DeletionTimestamp == nil || !slices.Contains(namespace.Spec.Finalizers, corev1.FinalizerKubernetes):
		return nil, nil
	}
	found, left := c.deleter.deleteContent(ctx, name)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	err = c.update(ctx, namespace, c.client.UpdateStatus, func(namespace *corev1.Namespace) bool {
		return setConditions(&namespace.Status, found.conditions())
	})
	if err := errors.Join(append(found.errs, err)...); err != nil || len(left) > 0 {
		return left, err
	}
	return nil, c.update(ctx, namespace, c.client.Finalize, func(namespace *corev1.Namespace) bool {
		before := len(namespace.Spec.Finalizers)
		namespace.Spec.Finalizers = slices.DeleteFunc(namespace.Spec.Finalizers, func(f corev1.FinalizerName) bool {
			return f == corev1.FinalizerKubernetes
		})
		return len(namespace.Spec.Finalizers) != before
	})
}

// put replaces a subresource of a namespace.
type put func(context.Context, *corev1.Namespace, metav1.UpdateOptions) (*corev1.Namespace, error)

// update changes a subresource of a namespace, unless it was deleted meanwhile or change returns false. The first
// attempt changes namespace, later ones the present namespace. In the end namespace is as it was stored.
func (c *Controller) update(
	ctx context.Context, namespace *corev1.Namespace, put put, change func(*corev1.Namespace) bool,
) error {
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if !change(namespace) {
			return nil
		}
		updated, err := put(ctx, namespace, metav1.UpdateOptions{})
		if err == nil {
			*namespace = *updated
		}
		if !apierrors.IsConflict(err) {
			return err
		}
		present, failed := c.client.Get(ctx, namespace.Name, metav1.GetOptions{})
		switch {
		case failed != nil:
			return failed
		case present.UID != namespace.UID:
			return nil
		}
		*namespace = *present
		return err
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
