package network

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

func networkPolicyDefinition() *resource.Definition {
	return &resource.Definition{
		Object: &networkingv1.NetworkPolicy{}, ShortNames: []string{"netpol"}, Namespaced: true,
		Default: defaultNetworkPolicy, Columns: networkPolicyColumns,
		Strategy: resource.Plain[*networkingv1.NetworkPolicy]{Counts: true}.Rules(),
	}
}

func defaultNetworkPolicy(obj runtime.Object) {
	spec := &obj.(*networkingv1.NetworkPolicy).Spec
	for _, rule := range spec.Ingress {
		defaultPorts(rule.Ports)
	}
	for _, rule := range spec.Egress {
		defaultPorts(rule.Ports)
	}
	if len(spec.PolicyTypes) > 0 {
		return
	}
	spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
	if len(spec.Egress) > 0 {
		spec.PolicyTypes = append(spec.PolicyTypes, networkingv1.PolicyTypeEgress)
	}
}

func defaultPorts(ports []networkingv1.NetworkPolicyPort) {
	for n := range ports {
		resource.Default(&ports[n].Protocol, corev1.ProtocolTCP)
	}
}

var networkPolicyColumns = resource.Columns[*networkingv1.NetworkPolicy]{
	{Name: "Pod-Selector", Field: "spec.podSelector"},
	{Name: "Age"},
}
