package evaluators

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

var serviceResource = corev1.Resource("services")

var services = newMeasure(serviceResource, measure{
	handles: writes,
	has: func(name corev1.ResourceName) bool {
		return name == corev1.ResourceServices || name == corev1.ResourceServicesNodePorts ||
			name == corev1.ResourceServicesLoadBalancers
	},
	usage: serviceUsage,
})

// serviceUsage counts the node ports that a Service is going to have: they need not be allocated yet.
func serviceUsage(obj runtime.Object) corev1.ResourceList {
	service := obj.(*corev1.Service)
	nodePorts, balancers := 0, 0
	switch service.Spec.Type {
	case corev1.ServiceTypeNodePort:
		nodePorts = len(service.Spec.Ports)
	case corev1.ServiceTypeLoadBalancer:
		nodePorts, balancers = len(service.Spec.Ports), 1
		if !ptr.Deref(service.Spec.AllocateLoadBalancerNodePorts, true) {
			nodePorts = chosenNodePorts(service)
		}
	}
	return corev1.ResourceList{
		corev1.ResourceServices:              number(1),
		corev1.ResourceServicesNodePorts:     number(nodePorts),
		corev1.ResourceServicesLoadBalancers: number(balancers),
	}
}

// chosenNodePorts returns the number of ports with a node port.
func chosenNodePorts(service *corev1.Service) (count int) {
	for n := range service.Spec.Ports {
		if service.Spec.Ports[n].NodePort != 0 {
			count++
		}
	}
	return count
}
