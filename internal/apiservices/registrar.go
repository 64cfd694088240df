package apiservices

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
	"k8s.io/kube-aggregator/pkg/client/informers/externalversions"
	listers "k8s.io/kube-aggregator/pkg/client/listers/apiregistration/v1"
)

// Config is what a Registrar needs. All fields must be set.
type Config struct {
	// Client is one of the host cluster.
	Client clientset.Interface
	// Service is what the aggregator sends requests to, in the host cluster.
	Service apiregistrationv1.ServiceReference
	// CABundle returns the authority, in PEM, of the certificate that is served under the name of the Service.
	CABundle func() []byte
	// Served returns all groups and versions that are served now, Serves whether one is. The aggregator asks for a new one at
	// once: what they return is in discovery.
	Served func() []schema.GroupVersion
	Serves func(schema.GroupVersion) bool
	// Current waits until Serves knows of everything that any replica has acknowledged when it is called.
	Current func(context.Context) error
}

// Registrar keeps the APIServices of a host cluster as they should be.
type Registrar struct {
	config Config
	queue  workqueue.TypedRateLimitingInterface[string]
	lister listers.APIServiceLister
}

// The waits between attempts that fail: the host cluster may be away for long.
const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = time.Minute
)

// NewRegistrar returns a registrar that has not begun.
func NewRegistrar(config Config) *Registrar {
	return &Registrar{
		config: config,
		queue:  workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](firstRetry, lastRetry)),
	}
}

// Changed says that groups and versions may be served now, or not any more. It does not wait.
func (r *Registrar) Changed(versions ...schema.GroupVersion) {
	for _, version := range versions {
		r.queue.Add(nameOf(version))
	}
}

// Run works until the context ends. Everything it starts ends with it. A host cluster that cannot be reached is waited for.
func (r *Registrar) Run(ctx context.Context) error {
	factory := externalversions.NewSharedInformerFactory(r.config.Client, 0)
	services := factory.Apiregistration().V1().APIServices()
	r.lister = services.Lister()
	if _, err := services.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    r.enqueue,
		UpdateFunc: func(_, obj any) { r.enqueue(obj) },
		DeleteFunc: r.enqueue,
	}); err != nil {
		return fmt.Errorf("watching APIServices: %w", err)
	}
	factory.StartWithContext(ctx)
	defer factory.Shutdown()
	if !cache.WaitForCacheSync(ctx.Done(), services.Informer().HasSynced) {
		return context.Cause(ctx)
	}
	if err := wait.PollUntilContextCancel(ctx, firstCurrent, true, r.isCurrent); err != nil {
		return err // the context has ended
	}
	r.Changed(r.config.Served()...)
	go func() { // ends with the context
		<-ctx.Done()
		r.queue.ShutDown()
	}()
	for r.next(ctx) {
	}
	return nil
}

// firstCurrent is the time between attempts to learn what is served, at the start.
const firstCurrent = time.Second

func (r *Registrar) isCurrent(ctx context.Context) (bool, error) {
	if err := r.config.Current(ctx); err != nil {
		klog.FromContext(ctx).Error(err, "What is served is not known yet")
		return false, nil
	}
	return true, nil
}

func (r *Registrar) enqueue(obj any) {
	name, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj)
	if err != nil {
		utilruntime.HandleError(err)
		return
	}
	r.queue.Add(name)
}

// next deals with one name. False: there is no more to do.
func (r *Registrar) next(ctx context.Context) bool {
	name, shutdown := r.queue.Get()
	if shutdown {
		return false
	}
	defer r.queue.Done(name)
	switch err := r.sync(ctx, name); {
	case err == nil:
		r.queue.Forget(name)
	case ctx.Err() != nil:
	default:
		if !apierrors.IsConflict(err) { // another replica was faster, which is what replicas are for
			klog.FromContext(ctx).Error(err, "An APIService is not as it should be", "apiService", name)
		}
		r.queue.AddRateLimited(name)
	}
	return true
}

// sync makes one APIService as it should be.
func (r *Registrar) sync(ctx context.Context, name string) error {
	version, ok := versionOf(name)
	if !ok {
		return nil
	}
	found, err := r.lister.Get(name)
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	switch serves := r.config.Serves(version); {
	case err != nil && serves:
		return r.create(ctx, version)
	case err != nil:
		return nil
	case !r.owns(found):
		if serves {
			klog.FromContext(ctx).V(2).Info("A group is served here, but its APIService belongs to somebody else", "apiService", name)
		}
		return nil
	case serves:
		return r.update(ctx, found, version)
	default:
		return r.remove(ctx, found, version)
	}
}

func (r *Registrar) create(ctx context.Context, version schema.GroupVersion) error {
	_, err := r.config.Client.ApiregistrationV1().APIServices().Create(ctx, r.wanted(version), createOptions)
	if apierrors.IsAlreadyExists(err) { // its event comes
		return nil
	}
	if err != nil {
		return fmt.Errorf("creating: %w", err)
	}
	klog.FromContext(ctx).V(1).Info("Registered with the aggregator", "apiService", nameOf(version))
	return nil
}

// update changes what is not as it should be, and leaves everything else as it is.
func (r *Registrar) update(ctx context.Context, found *apiregistrationv1.APIService, version schema.GroupVersion) error {
	wanted := r.wanted(version)
	if equalSpecs(&found.Spec, &wanted.Spec) {
		return nil
	}
	changed := found.DeepCopy()
	changed.Spec = wanted.Spec
	if _, err := r.config.Client.ApiregistrationV1().APIServices().Update(ctx, changed, updateOptions); err != nil {
		return fmt.Errorf("updating: %w", err)
	}
	return nil
}

// remove deletes an APIService that nothing here is behind. A replica may be the last to learn of a CRD, so it makes sure.
func (r *Registrar) remove(ctx context.Context, found *apiregistrationv1.APIService, version schema.GroupVersion) error {
	if err := r.config.Current(ctx); err != nil {
		return err
	}
	if r.config.Serves(version) {
		return nil // and is in the queue again
	}
	err := r.config.Client.ApiregistrationV1().APIServices().Delete(ctx, found.Name, deleteOptions(found))
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting: %w", err)
	}
	klog.FromContext(ctx).V(1).Info("No longer registered with the aggregator", "apiService", found.Name)
	return nil
}

// nameOf is the name that an APIService must have.
func nameOf(version schema.GroupVersion) string { return version.Version + "." + version.Group }

// versionOf is the reverse of nameOf. False: such a name is none of ours.
func versionOf(name string) (schema.GroupVersion, bool) {
	version, group, ok := strings.Cut(name, ".")
	return schema.GroupVersion{Group: group, Version: version}, ok && group != ""
}
