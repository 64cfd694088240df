package allocator

import (
	"context"
	"errors"
	"iter"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/util/workqueue"

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

// The resources that the allocator needs.
var (
	servicesResource    = corev1.Resource("services")
	ipAddressesResource = schema.GroupResource{Group: "networking.k8s.io", Resource: "ipaddresses"}
)

// Services is the allocator of Services.
type Services struct {
	ranges    map[corev1.IPFamily]*ipRange
	primary   corev1.IPFamily
	portRange utilnet.PortRange

	services         *services
	addresses, ports *claims
	// doubts has the claims that may not agree with their Services.
	doubts workqueue.TypedRateLimitingInterface[claim]
	// grace is the time after which a claim without its Service is in doubt. Until then, a write of the Service may be
	// under way.
	grace time.Duration
	// reconciled is closed when the claims agree with the Services that were stored before the start.
	reconciled chan struct{}
}

var _ resource.Allocator = &Services{}

// New returns the allocator of Services; nil if Services and IPAddresses are not served. It allocates while Run runs.
func New(c Config) *Services {
	definition, ips := c.Set.Find(servicesResource), c.Set.Find(ipAddressesResource)
	if definition == nil || ips == nil {
		return nil
	}
	stored := &services{
		entries: c.Store.ResourceAt(definition.StorageFolder()), decode: c.Set.Codec(definition).Object,
	}
	s := &Services{
		ranges: map[corev1.IPFamily]*ipRange{}, portRange: c.NodePorts, services: stored,
		addresses: newAddresses(c.Store.ResourceAt(ips.StorageFolder()), c.Set.Codec(ips), stored),
		ports:     newPorts(c.Store.ResourceAt(PortsFolder), stored),
		doubts: workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.NewTypedItemExponentialFailureRateLimiter[claim](firstRetry, lastRetry),
			workqueue.TypedRateLimitingQueueConfig[claim]{Name: "service_claims"},
		),
		grace: time.Minute, reconciled: make(chan struct{}),
	}
	for n, prefix := range c.Ranges {
		r := newRange(prefix)
		s.ranges[r.family()] = r
		if n == 0 {
			s.primary = r.family()
		}
	}
	return s
}

// ByResource returns the allocators of the resources that have one.
func (s *Services) ByResource() map[schema.GroupResource]resource.Allocator {
	if s == nil {
		return nil
	}
	return map[schema.GroupResource]resource.Allocator{servicesResource: s}
}

// Allocate implements resource.Allocator.
func (s *Services) Allocate(
	ctx context.Context, obj, old runtime.Object, dryRun bool,
) (resource.Allocation, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	r := &request{
		Services: s, service: obj.(*corev1.Service), old: &corev1.Service{}, dryRun: dryRun, taken: sets.New[claim](),
	}
	if old != nil {
		r.old, r.updates = old.(*corev1.Service), true
	}
	if err := r.run(ctx); err != nil {
		r.End(context.WithoutCancel(ctx), false)
		return nil, err
	}
	return r, nil
}

// Release implements resource.Allocator.
func (s *Services) Release(ctx context.Context, obj runtime.Object) {
	s.settle(ctx, s.claimsOf(obj.(*corev1.Service)))
}

// claimsOf returns the claims that a Service needs.
func (s *Services) claimsOf(service *corev1.Service) (all []claim) {
	for _, c := range []*claims{s.addresses, s.ports} {
		for _, name := range c.namesOf(service) {
			all = append(all, claim{item{c, name}, ownerOf(service)})
		}
	}
	return all
}

// request completes one Service.
type request struct {
	*Services
	service *corev1.Service
	// old is the Service that is updated; an empty one for a new Service.
	old             *corev1.Service
	updates, dryRun bool

	// taken are the claims that the request has created, and one that it may have created. A dry run only notes them.
	taken      sets.Set[claim]
	conditions []dynamicstorage.Condition
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

// maxConditions bounds the conditions of a write: etcd compares at most 128 keys in a transaction.
const maxConditions = 100

// take takes an item for the Service.
func (r *request) take(ctx context.Context, i item) error {
	c := claim{i, ownerOf(r.service)}
	if r.dryRun {
		taken, err := i.isTaken(ctx, dynamicstorage.Consistent)
		if taken || r.taken.Has(c) {
			return errTaken
		}
		r.taken.Insert(c)
		return err
	}
	condition, err := c.take(ctx)
	switch {
	case errors.Is(err, errTaken):
		return err
	case err != nil: // etcd may create the claim later
		r.doubts.AddAfter(c, r.grace)
	case len(r.conditions) < maxConditions:
		r.conditions = append(r.conditions, condition)
	}
	r.taken.Insert(c)
	return err
}

// takeNext takes the first candidate that is free. The cache may show as taken what was just given back, so it is
// brought up to date before the range counts as full.
func (r *request) takeNext(
	ctx context.Context, itemOf func(number uint64) item, candidates iter.Seq[uint64],
) (uint64, error) {
	for _, mode := range []dynamicstorage.ReadMode{dynamicstorage.Any, dynamicstorage.Consistent} {
		for candidate := range candidates {
			i := itemOf(candidate)
			taken, err := i.isTaken(ctx, mode)
			if err != nil {
				return candidate, err
			}
			mode = dynamicstorage.Any
			if taken {
				continue
			}
			if err := r.take(ctx, i); !errors.Is(err, errTaken) {
				return candidate, err
			}
		}
	}
	return 0, errFull
}

// Conditions implements resource.Allocation: the claims exist.
func (r *request) Conditions() []dynamicstorage.Condition { return r.conditions }

// End implements resource.Allocation. The stored Service decides about the claims that were taken or given up.
func (r *request) End(ctx context.Context, stored bool) {
	if r.dryRun {
		return
	}
	needed := sets.New(r.claimsOf(r.service)...)
	doubtful := sets.New(r.claimsOf(r.old)...).Difference(needed)
	if stored {
		r.taken = r.taken.Difference(needed)
	}
	r.settle(ctx, r.taken.Union(doubtful).UnsortedList())
}

func (r *request) invalid(errs field.ErrorList) error {
	return apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, r.service.Name, errs)
}
