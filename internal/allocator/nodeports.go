package allocator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/network"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// DefaultNodePorts is the range of node ports in kube-apiserver.
var DefaultNodePorts = utilnet.PortRange{Base: 30000, Size: 2768}

// PortsFolder has the claims on node ports. kube-apiserver keeps an object of this name, which has a bit for each port.
// An entry for each port says whose it is, and writes of different ports do not wait for each other.
const PortsFolder = "ranges/servicenodeports"

func portName(number uint64) string { return strconv.FormatUint(number, 10) }

func (r *request) port(number uint64) item { return item{r.ports, portName(number)} }

// newPorts returns the claims on node ports. They have the form of IPAddresses.
func newPorts(entries *dynamicstorage.Resource, services *services) *claims {
	return &claims{
		entries: entries, services: services, namesOf: portsOf,
		encode: func(_ context.Context, name string, o owner) ([]byte, error) {
			return json.Marshal(networkingv1.IPAddress{
				ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: networkingv1.IPAddressSpec{ParentRef: &o},
			})
		},
		decode: func(entry *dynamicstorage.Entry) (owner, error) {
			if entry.Err != nil {
				return owner{}, entry.Err
			}
			var stored networkingv1.IPAddress
			err := json.Unmarshal(entry.Value, &stored)
			return serviceOf(stored.Spec.ParentRef), err
		},
	}
}

// portsOf returns the node ports that a Service has.
func portsOf(service *corev1.Service) (names []string) {
	ports := network.NodePorts(service)
	if health := service.Spec.HealthCheckNodePort; health != 0 {
		ports.Insert(health)
	}
	for number := range ports {
		names = append(names, portName(uint64(number)))
	}
	return names
}

// portCandidates returns the ports to try for a Service that names none: those at the beginning of the range are last.
func portCandidates(ports utilnet.PortRange) iter.Seq[uint64] {
	first, reserved := uint64(ports.Base), 0
	if ports.Size > minReserved {
		reserved = min(max(ports.Size/32, minReserved), maxReservedPorts)
	}
	return candidates(first, first+uint64(reserved), first+uint64(ports.Size)-1)
}

// namedPort takes the port that a Service names.
func (r *request) namedPort(ctx context.Context, number int32) error {
	if !r.portRange.Contains(int(number)) {
		return refusal("provided port is not in the valid range. The range of valid ports is " + r.portRange.String())
	}
	err := r.take(ctx, r.port(uint64(number)))
	if errors.Is(err, errTaken) {
		return refusal("provided port is already allocated")
	}
	return err
}

// nextPort takes a free port.
func (r *request) nextPort(ctx context.Context) (int32, error) {
	number, err := r.takeNext(ctx, r.port, portCandidates(r.portRange))
	return int32(number), err
}

// setPorts takes the node ports that a Service does not have yet.
func (r *request) setPorts(ctx context.Context) error {
	switch r.service.Spec.Type {
	case corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer:
	default:
		return nil
	}
	needsHealth := network.NeedsHealthCheck(r.service) && !network.NeedsHealthCheck(r.old)
	if err := r.choosePorts(ctx); err != nil || !needsHealth {
		return err
	}
	err := r.chooseHealthPort(ctx)
	if isRefusal(err) {
		return apierrors.NewInternalError(err)
	}
	return err
}

// choosePorts sets the node ports of the ports of a Service. Ports of the same number, which differ by their protocols,
// share one when the Service is created.
func (r *request) choosePorts(ctx context.Context) error {
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
			next, err := r.nextPort(ctx)
			if isRefusal(err) {
				err = apierrors.NewInternalError(fmt.Errorf("failed to allocate a nodePort: %w", err))
			}
			if err != nil {
				return err
			}
			port.NodePort = next
			if !r.updates {
				chosen[port.Port] = next
			}
		case had.Has(port.NodePort):
		case r.taken.Has(claim{r.port(uint64(port.NodePort)), ownerOf(r.service)}) &&
			(r.updates || given[port.Port] == port.NodePort):
		default:
			err := r.namedPort(ctx, port.NodePort)
			if isRefusal(err) {
				path := field.NewPath("spec", "ports").Index(n).Child("nodePort")
				err = r.invalid(field.ErrorList{field.Invalid(path, port.NodePort, err.Error())})
			}
			if err != nil {
				return err
			}
		}
		given[port.Port] = port.NodePort
	}
	return nil
}

func (r *request) chooseHealthPort(ctx context.Context) (err error) {
	spec := &r.service.Spec
	if spec.HealthCheckNodePort != 0 {
		if err = r.namedPort(ctx, spec.HealthCheckNodePort); err != nil {
			return fmt.Errorf("failed to allocate requested HealthCheck NodePort %v: %w", spec.HealthCheckNodePort, err)
		}
		return nil
	}
	if spec.HealthCheckNodePort, err = r.nextPort(ctx); err != nil {
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
