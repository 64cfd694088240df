package clustertrust

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	core "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/workers"
)

// The name of the ConfigMap, and its key in etcd.
const (
	namespace = metav1.NamespaceSystem
	mapName   = "extension-apiserver-authentication"
	mapKey    = "configmaps/" + namespace + "/" + mapName
)

// Config configures a Controller.
type Config struct {
	Store *dynamicstorage.Store
	Set   *builtin.Set
	// Client is of this server, as a user that may do everything.
	Client *rest.Config
	// Info is what this server adds.
	Info Info
}

// Controller adds the authorities of this server to the ConfigMap, and creates it again if it was deleted. Every
// replica runs one, because each may have other authorities. It holds no objects: while nothing changes it costs
// nothing.
type Controller struct {
	config Config
	client core.ConfigMapInterface
	// queue has the name of the ConfigMap when it may have to be written.
	queue workers.Queue[string]
}

var (
	_ dynamiccertificates.Listener = &Controller{}
	_ dynamicstorage.Observer      = &Controller{}
)

// New returns a controller. It does nothing before Run. The authorities must not be followed yet.
func New(config Config) *Controller {
	c := &Controller{
		config: config, client: core.NewForConfigOrDie(config.Client).ConfigMaps(namespace),
		queue: workers.NewQueue[string]("cluster_authentication_trust_controller", time.Minute),
	}
	config.Info.notify(c)
	return c
}

// Run works until ctx is done. It may be called once.
func (c *Controller) Run(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() { c.config.Store.Follow(ctx, func(key string) bool { return key == mapKey }, c) })
	c.queue.Work(ctx, 1, "Publishing the authorities of clients failed, will retry", c.sync)
	running.Wait()
}

// Enqueue implements dynamiccertificates.Listener: an authority has changed.
func (c *Controller) Enqueue() { c.queue.Add(mapName) }

// Reset implements dynamicstorage.Observer: events may have been lost.
func (c *Controller) Reset() { c.Enqueue() }

// Scanned implements dynamicstorage.Observer.
func (c *Controller) Scanned(int64) {}

// Observe implements dynamicstorage.Observer.
func (c *Controller) Observe(dynamicstorage.Observation) { c.Enqueue() }

// sync creates the ConfigMap, or adds to it what it lacks.
func (c *Controller) sync(ctx context.Context, _ string) error {
	stored, err := c.read(ctx)
	if err != nil {
		return err
	}
	data, err := c.config.Info.addTo(stored.Data)
	if err != nil {
		klog.FromContext(ctx).V(1).Info("The authorities of clients are not published", "configMap", mapName, "err", err)
		return nil // kube-apiserver leaves an unreadable one too; its next change is an event
	}
	if maps.Equal(data, stored.Data) {
		return nil
	}
	stored.Data = data
	if stored.ResourceVersion == "" {
		_, err = c.client.Create(ctx, stored, metav1.CreateOptions{})
	} else {
		_, err = c.client.Update(ctx, stored, metav1.UpdateOptions{})
	}
	switch {
	case apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err):
		return nil // the change that was faster is an event
	case apierrors.IsRequestEntityTooLargeError(err),
		apierrors.IsInvalid(err) && strings.Contains(err.Error(), "Too long"):
		return c.client.Delete(ctx, mapName, metav1.DeleteOptions{}) // every server adds its own again
	}
	return err
}

// read returns the stored ConfigMap, or an empty one.
func (c *Controller) read(ctx context.Context) (*corev1.ConfigMap, error) {
	found, err := c.config.Store.Read(ctx, mapKey)
	if err == nil {
		err = found.Err
	}
	if err != nil {
		return nil, fmt.Errorf("read the authorities of clients: %w", err)
	}
	if found.Deleted {
		return emptyMap(), nil
	}
	obj, _, err := c.config.Set.Codecs.UniversalDeserializer().Decode(found.Value, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("decode the authorities of clients: %w", err)
	}
	stored, ok := obj.(*corev1.ConfigMap)
	if !ok {
		return nil, fmt.Errorf("the authorities of clients are a %T", obj)
	}
	stored.ResourceVersion = fmt.Sprint(found.Revision)
	return stored, nil
}

func emptyMap() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: mapName}}
}
