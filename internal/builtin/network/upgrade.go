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

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// upgradeIngress completes an Ingress of networking.k8s.io/v1beta1 or extensions/v1beta1, which have the same fields.
func upgradeIngress(stored, obj runtime.Object) error {
	stored, err := resource.As(stored, &networkingv1beta1.Ingress{})
	if err != nil {
		return err
	}
	old, ingress := stored.(*networkingv1beta1.Ingress), obj.(*networkingv1.Ingress)
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
			resource.Default(&path.PathType, networkingv1.PathTypeImplementationSpecific)
		}
	}
	return nil
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

// upgradeEndpointSlice completes an EndpointSlice of v1beta1. In v1 there are fields for what was in the topology.
func upgradeEndpointSlice(old, obj runtime.Object) error {
	for n, before := range old.(*discoveryv1beta1.EndpointSlice).Endpoints {
		endpoint, topology := &obj.(*discoveryv1.EndpointSlice).Endpoints[n], maps.Clone(before.Topology)
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
	return nil
}
