//lint:file-ignore SA1019 Endpoints are deprecated, and served

package serverendpoints

import (
	"context"
	"errors"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	discoveryclient "k8s.io/client-go/kubernetes/typed/discovery/v1"
	"k8s.io/client-go/rest"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/workers"
)

// Config configures a Controller.
type Config struct {
	Store *dynamicstorage.Store
	// Client is of this server, as a user that may do everything.
	Client *rest.Config
	// Leases are those of the servers on an external etcd; nil if this server is the only one.
	Leases *Leases
	// Service is created when it is missing.
	Service *corev1.Service
	// Address is where clients reach this server; empty if there are to be no endpoints.
	Address string
	Port    int
}

// Controller keeps the objects. Every replica runs one. Its methods are called one after the other.
type Controller struct {
	config    Config
	services  coreclient.ServiceInterface
	endpoints coreclient.EndpointsInterface
	slices    discoveryclient.EndpointSliceInterface
	// failed says that the last attempt has failed.
	failed bool
	// changed has an element when the objects or the leases have changed.
	changed chan struct{}
}

// New returns a controller. It does nothing before Announce.
func New(config Config) *Controller {
	core := coreclient.NewForConfigOrDie(config.Client)
	discovery := discoveryclient.NewForConfigOrDie(config.Client)
	return &Controller{
		config: config, changed: make(chan struct{}, 1), services: core.Services(metav1.NamespaceDefault),
		endpoints: core.Endpoints(metav1.NamespaceDefault), slices: discovery.EndpointSlices(metav1.NamespaceDefault),
	}
}

// Announce adds this server. Run repeats what fails. A nil controller announces nothing.
func (c *Controller) Announce(ctx context.Context) {
	if c != nil {
		c.renew(ctx, false)
	}
}

// Run keeps the objects until ctx is done. A nil controller keeps none.
func (c *Controller) Run(ctx context.Context) {
	if c == nil {
		return
	}
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		c.config.Store.Follow(ctx, concerns, c)
	}()
	defer func() { <-followed }()
	renewal := time.NewTicker(interval)
	defer renewal.Stop()
	for {
		select {
		case <-renewal.C:
			if c.config.Leases != nil || c.failed {
				c.renew(ctx, true)
			}
		case <-c.changed:
			c.report(ctx, c.reconcile(ctx, true))
		case <-ctx.Done():
			return
		}
	}
}

// Withdraw removes this server. A nil controller removes nothing.
func (c *Controller) Withdraw(ctx context.Context) {
	if c == nil || c.config.Address == "" {
		return
	}
	var addresses []string
	if leases := c.config.Leases; leases != nil {
		err := leases.remove(ctx, c.config.Address)
		if err == nil {
			addresses, err = leases.list(ctx)
		}
		if err != nil {
			c.report(ctx, err)
			return
		}
	}
	if err := c.writeEndpoints(ctx, addresses, false, false); !apierrors.IsNotFound(err) {
		c.report(ctx, err)
	}
}

// renew renews the lease of this server and reconciles the objects.
func (c *Controller) renew(ctx context.Context, keepPorts bool) {
	var err error
	if c.config.Leases != nil && c.config.Address != "" {
		err = c.config.Leases.renew(ctx, c.config.Address)
	}
	c.report(ctx, errors.Join(err, c.reconcile(ctx, keepPorts)))
}

func (c *Controller) report(ctx context.Context, err error) {
	c.failed = err != nil
	if err != nil && ctx.Err() == nil {
		workers.LogFailure(ctx, err, "The Service of this server or its endpoints are not up to date", "service", name)
	}
}

// reconcile creates the Service if it is missing, and gives the other objects the addresses of all servers.
func (c *Controller) reconcile(ctx context.Context, keepPorts bool) error {
	if err := c.createService(ctx); err != nil || c.config.Address == "" {
		return err
	}
	addresses := []string{c.config.Address}
	if c.config.Leases != nil {
		var err error
		if addresses, err = c.config.Leases.list(ctx); err != nil {
			return err
		}
		if len(addresses) == 0 {
			return nil // the lease of this server has ended; its next renewal changes it
		}
	}
	return c.writeEndpoints(ctx, addresses, keepPorts, true)
}

// createService creates the Service if it is missing. A present one stays as it is.
func (c *Controller) createService(ctx context.Context) error {
	_, err := c.services.Get(ctx, name, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		return err
	}
	if _, err = c.services.Create(ctx, c.config.Service, metav1.CreateOptions{}); apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// writeEndpoints corrects the Endpoints and the slice. create says that missing Endpoints are created.
func (c *Controller) writeEndpoints(ctx context.Context, addresses []string, keepPorts, create bool) error {
	found, err := c.endpoints.Get(ctx, name, metav1.GetOptions{})
	isNew := create && apierrors.IsNotFound(err)
	if isNew {
		found, err = &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name}}, nil
	}
	if err != nil {
		return err
	}
	if correct(found, addresses, portOf(c.config.Port), keepPorts) {
		if isNew {
			found, err = c.endpoints.Create(ctx, found, metav1.CreateOptions{})
		} else {
			found, err = c.endpoints.Update(ctx, found, metav1.UpdateOptions{})
		}
		if apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) {
			return nil // the change that was faster is an event
		}
		if err != nil {
			return err
		}
	}
	return c.writeSlice(ctx, sliceOf(found))
}

// writeSlice creates the slice or corrects it.
func (c *Controller) writeSlice(ctx context.Context, wanted *discoveryv1.EndpointSlice) error {
	found, err := c.slices.Get(ctx, name, metav1.GetOptions{})
	if err == nil && found.AddressType != wanted.AddressType { // it cannot be changed
		if err := c.slices.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			return err
		}
		_, err = c.slices.Create(ctx, wanted, metav1.CreateOptions{})
		return err
	}
	switch {
	case apierrors.IsNotFound(err):
		if _, err = c.slices.Create(ctx, wanted, metav1.CreateOptions{}); apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	case err != nil:
		return err
	case equality.Semantic.DeepEqual(found.Endpoints, wanted.Endpoints) &&
		equality.Semantic.DeepEqual(found.Ports, wanted.Ports) && equality.Semantic.DeepEqual(found.Labels, wanted.Labels):
		return nil
	}
	_, err = c.slices.Update(ctx, wanted, metav1.UpdateOptions{})
	return err
}

// concerns reports whether a key is one of the objects, or the lease of a server.
func concerns(key string) bool {
	const object = "/" + metav1.NamespaceDefault + "/" + name
	return key == "services/specs"+object || key == "services/endpoints"+object || key == "endpointslices"+object ||
		strings.HasPrefix(key, folder+"/")
}

var _ dynamicstorage.Observer = &Controller{}

// Reset implements dynamicstorage.Observer: events may have been lost.
func (c *Controller) Reset() {
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// Scanned implements dynamicstorage.Observer.
func (c *Controller) Scanned(int64) {}

// Observe implements dynamicstorage.Observer. Renewals of leases change nothing, but cost no more than a comparison.
func (c *Controller) Observe(dynamicstorage.Observation) { c.Reset() }
