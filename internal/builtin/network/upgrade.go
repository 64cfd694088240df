package network

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	discoveryv1beta1 "k8s.io/api/discovery/v1beta1"
	networkingv1 "k8s.io/api/networking/v1"
	networkingv1beta1 "k8s.io/api/networking/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// upgradeIngress returns an Ingress of networking.k8s.io/v1beta1 or extensions/v1beta1, which have the same fields, in
// v1.
func upgradeIngress(obj runtime.Object) (runtime.Object, error) {
	old, ingress := &networkingv1beta1.Ingress{}, &networkingv1.Ingress{}
	if err := resource.Transcode(obj, old); err != nil {
		return nil, err
	}
	if err := resource.Transcode(old, ingress); err != nil {
		return nil, err
	}
	if old.Spec.Backend != nil {
		ingress.Spec.DefaultBackend = upgradeBackend(old.Spec.Backend)
	}
	for r, rule := range old.Spec.Rules {
		if rule.HTTP == nil {
			continue
		}
		for p := range rule.HTTP.Paths {
			path := &ingress.Spec.Rules[r].HTTP.Paths[p]
			path.Backend = *upgradeBackend(&rule.HTTP.Paths[p].Backend)
			if path.PathType == nil {
				path.PathType = ptr.To(networkingv1.PathTypeImplementationSpecific)
			}
		}
	}
	return ingress, nil
}

func upgradeBackend(old *networkingv1beta1.IngressBackend) *networkingv1.IngressBackend {
	backend := &networkingv1.IngressBackend{Resource: old.Resource}
	if old.ServiceName == "" && old.ServicePort == (intstr.IntOrString{}) {
		return backend
	}
	backend.Service = &networkingv1.IngressServiceBackend{
		Name: old.ServiceName,
		Port: networkingv1.ServiceBackendPort{Name: old.ServicePort.StrVal, Number: old.ServicePort.IntVal},
	}
	return backend
}

// upgradeEndpointSlice returns an EndpointSlice of v1beta1 in v1, which has fields for what was in the topology.
func upgradeEndpointSlice(obj runtime.Object) (runtime.Object, error) {
	old, slice := &discoveryv1beta1.EndpointSlice{}, &discoveryv1.EndpointSlice{}
	if err := resource.Transcode(obj, old); err != nil {
		return nil, err
	}
	if err := resource.Transcode(old, slice); err != nil {
		return nil, err
	}
	for n := range old.Endpoints {
		endpoint, topology := &slice.Endpoints[n], maps.Clone(old.Endpoints[n].Topology)
		if zone, ok := topology[corev1.LabelTopologyZone]; ok {
			endpoint.Zone = &zone
			delete(topology, corev1.LabelTopologyZone)
		}
		if node := endpoint.NodeName; node != nil && topology[corev1.LabelHostname] == *node {
			delete(topology, corev1.LabelHostname)
		}
		if len(topology) > 0 {
			endpoint.DeprecatedTopology = topology
		}
	}
	return slice, nil
}
