package network

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

func networkPolicyDefinition() *resource.Definition {
	return &resource.Definition{
		GroupVersion: networkingv1.SchemeGroupVersion, Kind: "NetworkPolicy", Plural: "networkpolicies",
		Singular: "networkpolicy", ShortNames: []string{"netpol"}, Namespaced: true,
		Object: &networkingv1.NetworkPolicy{}, List: &networkingv1.NetworkPolicyList{},
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

var networkPolicyColumns = &resource.Columns{
	Definitions: []metav1.TableColumnDefinition{
		resource.NameColumn,
		resource.TextColumn("Pod-Selector", networkingv1.NetworkPolicySpec{}.SwaggerDoc()["podSelector"]),
		resource.AgeColumn,
	},
	Cells: func(obj runtime.Object) []any {
		policy := obj.(*networkingv1.NetworkPolicy)
		return []any{policy.Name, metav1.FormatLabelSelector(&policy.Spec.PodSelector), resource.Age(policy)}
	},
}
