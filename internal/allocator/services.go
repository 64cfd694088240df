package allocator

import (
	"context"
	"net/netip"

	"golang.org/x/sync/semaphore"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// Config has what the allocator of Services needs.
type Config struct {
	Store *dynamicstorage.Store
	Set   *builtin.Set
	// Ranges are the ranges of cluster IPs, at most one of each family. The first is that of Services that ask for none.
	Ranges []netip.Prefix
	// NodePorts is the range of node ports.
	NodePorts utilnet.PortRange
}

// The resources of the allocator.
var (
	servicesResource    = corev1.Resource("services")
	ipAddressesResource = schema.GroupResource{Group: "networking.k8s.io", Resource: "ipaddresses"}
)

// Services is the allocator of Services.
type Services struct {
	ranges    map[corev1.IPFamily]*ipRange
	primary   corev1.IPFamily
	addresses *addresses
	nodePorts *nodePorts
}

var _ resource.Allocator = &Services{}

// New returns the allocators of the resources that have one: none if Services and IPAddresses are not served.
func New(c Config) map[schema.GroupResource]resource.Allocator {
	services, ips := c.Set.Find(servicesResource), c.Set.Find(ipAddressesResource)
	if services == nil || ips == nil {
		return nil
	}
	s := &Services{
		ranges:    map[corev1.IPFamily]*ipRange{},
		addresses: &addresses{entries: c.Store.ResourceAt(ips.StorageFolder()), codec: c.Set.Codec(ips)},
		nodePorts: &nodePorts{
			ports: c.NodePorts, services: c.Store.ResourceAt(services.StorageFolder()), codec: c.Set.Codec(services),
			lock: semaphore.NewWeighted(1), pending: sets.New[int32](),
		},
	}
	for n, prefix := range c.Ranges {
		r := newRange(prefix)
		s.ranges[r.family()] = r
		if n == 0 {
			s.primary = r.family()
		}
	}
	return map[schema.GroupResource]resource.Allocator{servicesResource: s}
}

// Allocate implements resource.Allocator.
func (s *Services) Allocate(
	ctx context.Context, obj, old runtime.Object, dryRun bool,
) (resource.Allocation, error) {
	r := &request{Services: s, service: obj.(*corev1.Service), old: &corev1.Service{}, dryRun: dryRun}
	if old != nil {
		r.old, r.updates = old.(*corev1.Service), true
	}
	if err := r.run(ctx); err != nil {
		r.Revert(context.WithoutCancel(ctx))
		return nil, err
	}
	return r, nil
}

// Release implements resource.Allocator. Node ports need no release: a Service that is gone has none.
func (s *Services) Release(ctx context.Context, obj runtime.Object) {
	service := obj.(*corev1.Service)
	s.release(ctx, addressesOf(service), service)
}

// release gives addresses of a Service back. An address that stays taken harms nobody, so errors are only logged.
func (s *Services) release(ctx context.Context, ips []string, service *corev1.Service) {
	for _, ip := range ips {
		if err := s.addresses.release(ctx, ip, service); err != nil {
			klog.FromContext(ctx).Error(err, "Failed to release the cluster IP", "service", klog.KObj(service))
		}
	}
}

// request completes one Service.
type request struct {
	*Services
	service *corev1.Service
	// old is the Service that is updated; an empty one for a new Service.
	old             *corev1.Service
	updates, dryRun bool

	// taken are the addresses, and ports the node ports, that the Service has got. releases are addresses that it gives
	// up when it is stored.
	taken, releases []string
	ports           sets.Set[int32]
}

func (r *request) run(ctx context.Context) error {
	if r.updates {
		r.keepIPs()
		r.keepPorts()
	}
	r.normalizeIPs()
	if err := r.setFamilies(); err != nil {
		return err
	}
	if err := r.setIPs(ctx); err != nil {
		return err
	}
	return r.setPorts(ctx)
}

// Commit implements resource.Allocation.
func (r *request) Commit(ctx context.Context) {
	r.nodePorts.forget(ctx, r.ports)
	if !r.dryRun {
		r.release(ctx, r.releases, r.old)
	}
}

// Revert implements resource.Allocation.
func (r *request) Revert(ctx context.Context) {
	r.nodePorts.forget(ctx, r.ports)
	r.release(ctx, r.taken, r.service)
}

func (r *request) invalid(errs field.ErrorList) error {
	return apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, r.service.Name, errs)
}
