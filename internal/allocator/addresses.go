package allocator

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// addresses takes and releases addresses, which are the names of IPAddresses.
type addresses struct {
	entries *dynamicstorage.Resource
	codec   *builtin.Codec
}

var (
	errTaken   = errors.New("provided IP is already allocated")
	errForeign = errors.New("the provided network does not match the current range")
	errFull    = errors.New("range is full")
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
			ParentRef: &networkingv1.ParentReference{Resource: "services", Namespace: namespace, Name: service},
		},
	}
}

// take takes an address for a Service. The error is errTaken if another one has it.
func (a *addresses) take(ctx context.Context, address netip.Addr, service *corev1.Service) error {
	object := NewAddress(address, service.Namespace, service.Name)
	object.UID = uuid.NewUUID()
	object.CreationTimestamp = metav1.Now()
	value, _, err := a.codec.Encode(ctx, object)
	if err != nil {
		return err
	}
	create := func(_ context.Context, current *dynamicstorage.Entry) (dynamicstorage.Change, error) {
		if current != nil {
			return dynamicstorage.Change{}, errTaken
		}
		return dynamicstorage.Change{Op: dynamicstorage.Put, Value: value}, nil
	}
	_, err = a.entries.Update(ctx, object.Name, create, dynamicstorage.UpdateOptions{Absent: true})
	return err
}

// takeNext takes a free address of a range.
func (a *addresses) takeNext(ctx context.Context, r *ipRange, service *corev1.Service) (netip.Addr, error) {
	for address := range r.candidates() {
		at := dynamicstorage.ReadAt{Mode: dynamicstorage.Any}
		if _, _, err := a.entries.Get(ctx, address.String(), at); err == nil {
			continue
		} else if !errors.Is(err, dynamicstorage.ErrNotFound) {
			return netip.Addr{}, err
		}
		if err := a.take(ctx, address, service); !errors.Is(err, errTaken) {
			return address, err
		}
	}
	return netip.Addr{}, errFull
}

// release gives an address back, if it is that of the Service.
func (a *addresses) release(ctx context.Context, address string, service *corev1.Service) error {
	own := networkingv1.ParentReference{Resource: "services", Namespace: service.Namespace, Name: service.Name}
	remove := func(_ context.Context, current *dynamicstorage.Entry) (dynamicstorage.Change, error) {
		keep := dynamicstorage.Change{Op: dynamicstorage.Keep}
		if current == nil {
			return keep, nil
		}
		obj, err := a.codec.Object(current)
		if err != nil {
			return keep, err
		}
		if parent := obj.(*networkingv1.IPAddress).Spec.ParentRef; parent == nil || *parent != own {
			return keep, nil
		}
		return dynamicstorage.Change{Op: dynamicstorage.Delete}, nil
	}
	if _, err := a.entries.Update(ctx, address, remove, dynamicstorage.UpdateOptions{}); err != nil {
		return fmt.Errorf("release IP address %s: %w", address, err)
	}
	return nil
}
