package apiservices

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper"
	"k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
	"k8s.io/kube-aggregator/pkg/client/informers/externalversions"
	listers "k8s.io/kube-aggregator/pkg/client/listers/apiregistration/v1"

	"github.com/crd-server/crd-server/internal/workers"
)

// Config is what a Registrar needs. All fields must be set.
type Config struct {
	// Client is a client of the host cluster.
	Client clientset.Interface
	// Service gets the requests of the aggregator, in the host cluster. It has a port, which the host would default.
	Service apiregistrationv1.ServiceReference
	// CABundle returns the authority, in PEM, of the certificate that is served under the name of the Service.
	CABundle func() []byte
	// Served returns all groups and versions that are served, and Serves reports whether one is. They must be in
	// discovery already, because the aggregator requests new ones immediately.
	Served func() []schema.GroupVersion
	Serves func(schema.GroupVersion) bool
	// Current waits until Serves knows everything that any replica has acknowledged before the call.
	Current func(context.Context) error
}

// Registrar reconciles the APIServices of a host cluster.
type Registrar struct {
	config Config
	queue  workers.Queue[string]
	lister listers.APIServiceLister
}

// NewRegistrar returns a registrar. It does nothing before Run.
func NewRegistrar(config Config) *Registrar {
	return &Registrar{config: config, queue: workers.NewQueue[string]("apiservices", time.Minute)}
}

// Changed enqueues groups and versions that are served since now, or not any more. It does not wait.
func (r *Registrar) Changed(versions ...schema.GroupVersion) {
	for _, version := range versions {
		r.queue.Add(nameOf(version))
	}
}

// Run reconciles until ctx is done. It waits for a host cluster that cannot be reached.
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
	r.queue.Work(ctx, 1, "Failed to reconcile an APIService", func(ctx context.Context, name string) error {
		err := r.sync(ctx, name)
		if err != nil && !apierrors.IsConflict(err) {
			return errors.New(err.Error()) // a refusal by the host cluster is to be logged, unlike one by this server
		}
		return err
	})
	return nil
}

// firstCurrent is the delay between retries of Current at the start.
const firstCurrent = time.Second

func (r *Registrar) isCurrent(ctx context.Context) (bool, error) {
	if err := r.config.Current(ctx); err != nil {
		klog.FromContext(ctx).Error(err, "Failed to find out what is served; will retry")
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

// sync reconciles one APIService.
func (r *Registrar) sync(ctx context.Context, name string) error {
	version := helper.APIServiceNameToGroupVersion(name)
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
			klog.FromContext(ctx).V(2).Info("The APIService of a served group belongs to somebody else", "apiService", name)
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
	if apierrors.IsAlreadyExists(err) { // the event enqueues it
		return nil
	}
	if err != nil {
		return fmt.Errorf("creating: %w", err)
	}
	klog.FromContext(ctx).V(1).Info("Registered with the aggregator", "apiService", nameOf(version))
	return nil
}

// update updates the spec if it differs.
func (r *Registrar) update(
	ctx context.Context, found *apiregistrationv1.APIService, version schema.GroupVersion,
) error {
	wanted := r.wanted(version)
	if equality.Semantic.DeepEqual(found.Spec, wanted.Spec) {
		return nil
	}
	changed := found.DeepCopy()
	changed.Spec = wanted.Spec
	if _, err := r.config.Client.ApiregistrationV1().APIServices().Update(ctx, changed, updateOptions); err != nil {
		return fmt.Errorf("updating: %w", err)
	}
	return nil
}

// remove deletes the APIService of a group that is not served. This replica may be the last to learn of a CRD, so it
// checks again.
func (r *Registrar) remove(
	ctx context.Context, found *apiregistrationv1.APIService, version schema.GroupVersion,
) error {
	if err := r.config.Current(ctx); err != nil {
		return err
	}
	if r.config.Serves(version) {
		return nil // the change enqueues it again
	}
	err := r.config.Client.ApiregistrationV1().APIServices().Delete(ctx, found.Name, deleteOptions(found))
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting: %w", err)
	}
	klog.FromContext(ctx).V(1).Info("No longer registered with the aggregator", "apiService", found.Name)
	return nil
}

// nameOf returns the name that the APIService must have.
func nameOf(version schema.GroupVersion) string { return version.Version + "." + version.Group }
