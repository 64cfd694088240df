// Package identity keeps the Lease by which clients and other servers of a control plane see that a kube-apiserver
// runs. Begin at New.
package identity

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/features"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/component-helpers/apimachinery/lease"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// component is the only one that has an identity here. It is the value of label.
const (
	component = "kube-apiserver"
	label     = "apiserver.kubernetes.io/identity"
)

// The times of kube-apiserver.
const (
	duration      = time.Hour
	renewInterval = 10 * time.Second
	checkInterval = time.Hour
)

// Of returns the name of the Lease of a kube-apiserver, by which metrics name it too.
func Of(hostname string) string {
	var data []byte
	for _, part := range []string{hostname, component} {
		data = binary.BigEndian.AppendUint16(data, uint16(len(part)))
		data = append(data, part...)
	}
	hash := sha256.Sum256(data)
	encoded := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(hash[:16])
	return "apiserver-" + strings.ToLower(encoded)
}

// Controller keeps the Lease of this server, and deletes those of servers that have ended long ago.
type Controller struct {
	client kubernetes.Interface
	name   string // of the Lease of this server
	own    lease.Controller
}

// New returns a controller that uses a client of this server. address is where other servers reach this one.
func New(config *rest.Config, address string) (*Controller, error) {
	client := kubernetes.NewForConfigOrDie(config)
	hostname, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	name := Of(hostname)
	mark := func(l *coordinationv1.Lease) error {
		metav1.SetMetaDataLabel(&l.ObjectMeta, label, component)
		metav1.SetMetaDataLabel(&l.ObjectMeta, corev1.LabelHostname, hostname)
		if utilfeature.DefaultFeatureGate.Enabled(features.UnknownVersionInteroperabilityProxy) {
			metav1.SetMetaDataAnnotation(&l.ObjectMeta, corev1.AnnotationPeerAdvertiseAddress, address)
		}
		return nil
	}
	own := lease.NewController(clock.RealClock{}, client, name+"_"+uuid.NewString(), int32(duration/time.Second), nil,
		renewInterval, name, metav1.NamespaceSystem, mark)
	return &Controller{client: client, name: name, own: own}, nil
}

// Run keeps the Lease until ctx is done, and then deletes it. It needs the namespace.
func (c *Controller) Run(ctx context.Context) {
	c.deletePrevious(ctx)
	var keeping sync.WaitGroup
	keeping.Go(func() { c.own.Run(ctx) })
	defer c.own.Stop() // deletes the Lease, after the last renewal
	defer keeping.Wait()
	check := time.NewTicker(checkInterval)
	defer check.Stop()
	for {
		c.deleteExpired(ctx)
		select {
		case <-check.C:
		case <-ctx.Done():
			return
		}
	}
}

// deletePrevious deletes the Lease that a server of this host has left behind, so that nobody takes this one for it. A
// Lease that cannot be deleted is renewed.
func (c *Controller) deletePrevious(ctx context.Context) {
	err := c.client.CoordinationV1().Leases(metav1.NamespaceSystem).Delete(ctx, c.name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) && ctx.Err() == nil {
		klog.FromContext(ctx).Error(err, "Failed to delete the Lease of the previous server", "lease", c.name)
	}
}

// deleteExpired deletes the Leases that nobody renews. What fails is tried again with the next check.
func (c *Controller) deleteExpired(ctx context.Context) {
	leases := c.client.CoordinationV1().Leases(metav1.NamespaceSystem)
	list, err := leases.List(ctx, metav1.ListOptions{LabelSelector: label + "=" + component})
	if err != nil {
		return
	}
	for n := range list.Items {
		if l := &list.Items[n]; expired(l, time.Now()) {
			unchanged := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &l.ResourceVersion}}
			_ = leases.Delete(ctx, l.Name, unchanged)
		}
	}
}

// expired reports whether a Lease was not renewed in time.
func expired(l *coordinationv1.Lease, now time.Time) bool {
	renewed, seconds := l.Spec.RenewTime, l.Spec.LeaseDurationSeconds
	return renewed == nil || seconds == nil || renewed.Add(time.Duration(*seconds)*time.Second).Before(now)
}
