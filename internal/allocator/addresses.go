package allocator

import (
	"context"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/builtin/network"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// controllerName is the label of IPAddresses that belong to Services.
const controllerName = "ipallocator.k8s.io"

// NewAddress returns the IPAddress of a Service.
func NewAddress(address netip.Addr, namespace, service string) *networkingv1.IPAddress {
	return &networkingv1.IPAddress{
		ObjectMeta: metav1.ObjectMeta{Name: address.String(), Labels: map[string]string{
			networkingv1.LabelIPAddressFamily: string(familyOf(address)),
			networkingv1.LabelManagedBy:       controllerName,
		}},
		Spec: networkingv1.IPAddressSpec{
			ParentRef: &owner{Resource: servicesResource.Resource, Namespace: namespace, Name: service},
		},
	}
}

// newAddresses returns the claims on cluster IPs, which are IPAddresses.
func newAddresses(entries *dynamicstorage.Resource, codec *builtin.Codec, services *services) *claims {
	return &claims{
		entries: entries, services: services, namesOf: addressesOf,
		encode: func(ctx context.Context, name string, o owner) ([]byte, error) {
			address, err := netip.ParseAddr(name)
			if err != nil {
				return nil, err
			}
			object := NewAddress(address, o.Namespace, o.Name)
			object.UID, object.CreationTimestamp = uuid.NewUUID(), metav1.Now()
			value, _, err := codec.Encode(ctx, object)
			return value, err
		},
		decode: func(entry *dynamicstorage.Entry) (owner, error) {
			obj, err := codec.Object(entry)
			if err != nil {
				return owner{}, err
			}
			address := obj.(*networkingv1.IPAddress)
			if address.Labels[networkingv1.LabelManagedBy] != controllerName {
				return owner{}, nil
			}
			return serviceOf(address.Spec.ParentRef), nil
		},
	}
}

// serviceOf returns the reference if it is to a Service, and an empty one otherwise.
func serviceOf(parent *owner) owner {
	if parent == nil || parent.Namespace == "" || parent.Name == "" ||
		*parent != (owner{Resource: servicesResource.Resource, Namespace: parent.Namespace, Name: parent.Name}) {
		return owner{}
	}
	return *parent
}

// addressesOf returns the addresses that a Service has, as IPAddresses are named.
func addressesOf(service *corev1.Service) (names []string) {
	if !network.NeedsClusterIP(service) {
		return nil
	}
	ips := service.Spec.ClusterIPs
	if len(ips) == 0 { // stored by a server that knew one address only
		ips = []string{service.Spec.ClusterIP}
	}
	for _, ip := range ips {
		if address, err := netip.ParseAddr(ip); err == nil { // else it is None, or empty
			names = append(names, address.String())
		}
	}
	return names
}
