package allocator

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"golang.org/x/sync/semaphore"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/builtin/network"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// nodePorts knows which node ports are free: those that neither a stored Service nor an unfinished write has.
type nodePorts struct {
	ports    utilnet.PortRange
	services *dynamicstorage.Resource
	codec    *builtin.Codec

	// lock guards pending. It is a semaphore because holders read the storage, and waiters may give up.
	lock *semaphore.Weighted
	// pending are the ports of unfinished writes, whose Services are not stored yet.
	pending sets.Set[int32]
}

// DefaultNodePorts is the range of node ports in kube-apiserver.
var DefaultNodePorts = utilnet.PortRange{Base: 30000, Size: 2768}

var errPortTaken = errors.New("provided port is already allocated")

// take calls choose, which takes some of the free ports or none, and returns the ports that it took.
func (p *nodePorts) take(ctx context.Context, choose func(free *freePorts) error) (taken sets.Set[int32], err error) {
	if err := p.lock.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer p.lock.Release(1)
	used, err := p.used(ctx)
	if err != nil {
		return nil, err
	}
	free := &freePorts{ports: p.ports, used: used.Union(p.pending), taken: sets.New[int32]()}
	if err := choose(free); err != nil {
		return nil, err
	}
	return free.taken, nil
}

// used returns the node ports of all stored Services.
func (p *nodePorts) used(ctx context.Context) (sets.Set[int32], error) {
	snapshot, err := p.services.Snapshot(ctx, dynamicstorage.ReadAt{Mode: dynamicstorage.Consistent})
	if err != nil {
		return nil, err
	}
	used := sets.New[int32]()
	for entry, err := range snapshot.Ascend(ctx, "", "") {
		if err != nil {
			return nil, err
		}
		obj, err := p.codec.Object(entry)
		if err != nil {
			return nil, fmt.Errorf("service %s: %w", entry.Key, err)
		}
		service := obj.(*corev1.Service)
		used = used.Union(network.NodePorts(service))
		if port := service.Spec.HealthCheckNodePort; port != 0 {
			used.Insert(port)
		}
	}
	return used, nil
}

// freePorts are the ports that one write may take.
type freePorts struct {
	ports       utilnet.PortRange
	used, taken sets.Set[int32]
}

// named takes the port that a Service names.
func (f *freePorts) named(port int32) error {
	switch {
	case !f.ports.Contains(int(port)):
		return fmt.Errorf("provided port is not in the valid range. The range of valid ports is %s", f.ports.String())
	case f.used.Has(port) || f.taken.Has(port):
		return errPortTaken
	}
	f.taken.Insert(port)
	return nil
}

// Bounds of the number of ports at the beginning of the range that Services are not given unless they name one.
const (
	minReservedPorts = 16
	maxReservedPorts = 128
)

// next takes a free port: one that is not at the beginning of the range, while there are any.
func (f *freePorts) next() (int32, error) {
	reserved := 0
	if f.ports.Size > minReservedPorts {
		reserved = min(max(f.ports.Size/32, minReservedPorts), maxReservedPorts)
	}
	for _, part := range []utilnet.PortRange{
		{Base: f.ports.Base + reserved, Size: f.ports.Size - reserved}, {Base: f.ports.Base, Size: reserved},
	} {
		if part.Size <= 0 {
			continue
		}
		start := rand.IntN(part.Size)
		for n := range part.Size {
			port := int32(part.Base + (start+n)%part.Size)
			if f.named(port) == nil {
				return port, nil
			}
		}
	}
	return 0, errFull
}

// setPorts takes the node ports that a Service does not have yet.
func (r *request) setPorts(ctx context.Context) error {
	needsHealth := network.NeedsHealthCheck(r.service) && !network.NeedsHealthCheck(r.old)
	switch r.service.Spec.Type {
	case corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer:
	default:
		return nil
	}
	if !needsHealth && !r.lacksPorts() {
		return nil
	}
	taken, err := r.nodePorts.take(ctx, func(free *freePorts) error {
		if err := r.choosePorts(free); err != nil {
			return err
		}
		if needsHealth {
			if err := r.chooseHealthPort(free); err != nil {
				return apierrors.NewInternalError(err)
			}
		}
		if !r.dryRun {
			r.nodePorts.pending = r.nodePorts.pending.Union(free.taken)
		}
		return nil
	})
	if !r.dryRun {
		r.ports = taken
	}
	return err
}

// lacksPorts reports whether a Service has to take node ports.
func (r *request) lacksPorts() bool {
	had := network.NodePorts(r.old)
	for _, port := range r.service.Spec.Ports {
		if port.NodePort == 0 && network.NeedsNodePorts(r.service) || port.NodePort != 0 && !had.Has(port.NodePort) {
			return true
		}
	}
	return false
}

// choosePorts sets the node ports of the ports of a Service. Ports of the same number, which differ by their protocols,
// share one when the Service is created.
func (r *request) choosePorts(free *freePorts) error {
	had, ports := network.NodePorts(r.old), r.service.Spec.Ports
	chosen, given := map[int32]int32{}, map[int32]int32{} // by the number of the port
	if !r.updates {
		for _, port := range ports {
			if port.NodePort != 0 && chosen[port.Port] == 0 {
				chosen[port.Port] = port.NodePort
			}
		}
	}
	for n := range ports {
		port := &ports[n]
		if port.NodePort == 0 && !network.NeedsNodePorts(r.service) {
			continue
		}
		if port.NodePort == 0 {
			port.NodePort = chosen[port.Port]
		}
		switch {
		case port.NodePort == 0:
			next, err := free.next()
			if err != nil {
				return apierrors.NewInternalError(fmt.Errorf("failed to allocate a nodePort: %w", err))
			}
			port.NodePort = next
			if !r.updates {
				chosen[port.Port] = next
			}
		case had.Has(port.NodePort):
		case free.taken.Has(port.NodePort) && (r.updates || given[port.Port] == port.NodePort):
		default:
			if err := free.named(port.NodePort); err != nil {
				path := field.NewPath("spec", "ports").Index(n).Child("nodePort")
				return r.invalid(field.ErrorList{field.Invalid(path, port.NodePort, err.Error())})
			}
		}
		given[port.Port] = port.NodePort
	}
	return nil
}

func (r *request) chooseHealthPort(free *freePorts) (err error) {
	spec := &r.service.Spec
	if spec.HealthCheckNodePort != 0 {
		if err = free.named(spec.HealthCheckNodePort); err != nil {
			return fmt.Errorf("failed to allocate requested HealthCheck NodePort %v: %w", spec.HealthCheckNodePort, err)
		}
		return nil
	}
	if spec.HealthCheckNodePort, err = free.next(); err != nil {
		return fmt.Errorf("failed to allocate a HealthCheck NodePort 0: %w", err)
	}
	return nil
}

// keepPorts restores the node ports that an update leaves out. They are known by the names of the ports.
func (r *request) keepPorts() {
	if network.NeedsNodePorts(r.old) && network.NeedsNodePorts(r.service) {
		used := network.NodePorts(r.old).Intersection(network.NodePorts(r.service))
		byName := map[string]int32{}
		for _, port := range r.old.Spec.Ports {
			byName[port.Name] = port.NodePort
		}
		for n := range r.service.Spec.Ports {
			if port := &r.service.Spec.Ports[n]; port.NodePort == 0 && !used.Has(byName[port.Name]) {
				port.NodePort = byName[port.Name]
			}
		}
	}
	if network.NeedsHealthCheck(r.old) && network.NeedsHealthCheck(r.service) && r.service.Spec.HealthCheckNodePort == 0 {
		r.service.Spec.HealthCheckNodePort = r.old.Spec.HealthCheckNodePort
	}
}

// forget removes the ports of a write from pending: their Service is stored, or never will be.
func (p *nodePorts) forget(ctx context.Context, taken sets.Set[int32]) {
	if len(taken) == 0 || p.lock.Acquire(ctx, 1) != nil {
		return
	}
	defer p.lock.Release(1)
	p.pending = p.pending.Difference(taken)
}
