//lint:file-ignore SA1019 Endpoints are deprecated, and served

package serverendpoints

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/utils/net"
)

// name is that of the Service, the Endpoints and the EndpointSlice.
const name = "kubernetes"

// portOf returns the port of the servers.
func portOf(port int) []corev1.EndpointPort {
	return []corev1.EndpointPort{{Name: "https", Port: int32(port), Protocol: corev1.ProtocolTCP}}
}

// correct gives Endpoints the addresses of the servers, and their port unless the present ones may stay. It reports
// whether that is a change.
func correct(e *corev1.Endpoints, addresses []string, ports []corev1.EndpointPort, keepPorts bool) (changed bool) {
	if e.Labels[discoveryv1.LabelSkipMirror] != "true" { // the slice is written here
		metav1.SetMetaDataLabel(&e.ObjectMeta, discoveryv1.LabelSkipMirror, "true")
		changed = true
	}
	if len(e.Subsets) == 1 {
		present := &e.Subsets[0]
		if keepPorts {
			ports = present.Ports
		}
		var ips []string
		for _, address := range present.Addresses {
			ips = append(ips, address.IP)
		}
		slices.Sort(ips)
		if slices.Equal(ips, addresses) && slices.Equal(ports, present.Ports) {
			return changed
		}
	} else if len(e.Subsets) == 0 && len(addresses) == 0 {
		return changed
	}
	e.Subsets = nil
	if len(addresses) > 0 {
		e.Subsets = []corev1.EndpointSubset{{Ports: ports}}
	}
	for _, ip := range addresses {
		e.Subsets[0].Addresses = append(e.Subsets[0].Addresses, corev1.EndpointAddress{IP: ip})
	}
	return true
}

// sliceOf returns the EndpointSlice of Endpoints. It has one family of addresses: IPv6 if there is no other.
func sliceOf(e *corev1.Endpoints) *discoveryv1.EndpointSlice {
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: e.Namespace, Name: e.Name, Labels: map[string]string{discoveryv1.LabelServiceName: e.Name},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
	}
	if len(e.Subsets) == 0 {
		return slice
	}
	subset := &e.Subsets[0]
	for n := range subset.Ports {
		port := &subset.Ports[n]
		slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{
			Name: &port.Name, Port: &port.Port, Protocol: &port.Protocol,
		})
	}
	isIPv4 := func(a corev1.EndpointAddress) bool { return !utilnet.IsIPv6String(a.IP) }
	if !slices.ContainsFunc(subset.Addresses, isIPv4) && len(subset.Addresses) > 0 {
		slice.AddressType = discoveryv1.AddressTypeIPv6
	}
	for _, address := range subset.Addresses {
		if isIPv4(address) == (slice.AddressType == discoveryv1.AddressTypeIPv4) {
			slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
				Addresses: []string{address.IP}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)},
			})
		}
	}
	return slice
}
