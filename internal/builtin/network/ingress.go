package network

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

func ingressDefinition() *resource.Definition {
	return &resource.Definition{
		Object: &networkingv1.Ingress{}, ShortNames: []string{"ing"}, Namespaced: true, Folder: "ingress",
		Columns: ingressColumns, Upgrade: upgradeIngress,
		Strategy: resource.Typed[*networkingv1.Ingress]{
			Prepare:       resource.Begin[*networkingv1.Ingress],
			Check:         checkIngressCreate,
			Warn:          ingressWarnings,
			PrepareUpdate: resource.Follow[*networkingv1.Ingress],
			CheckUpdate:   checkIngressUpdate,
		},
		Subresources: []resource.Subresource{{
			Name: "status",
			Strategy: resource.Typed[*networkingv1.Ingress]{
				PrepareUpdate: resource.KeepSpec[*networkingv1.Ingress],
				CheckUpdate:   checkIngressStatus,
				WarnUpdate:    func(obj, _ *networkingv1.Ingress) []string { return pointWarnings(pointsOf(obj)) },
			},
		}},
	}
}

// IngressClassAnnotation named the class before there was a field.
const IngressClassAnnotation = "kubernetes.io/ingress.class"

func ingressWarnings(obj *networkingv1.Ingress) []string {
	if _, found := obj.Annotations[IngressClassAnnotation]; !found || obj.Spec.IngressClassName != nil {
		return nil
	}
	const format = "annotation %q is deprecated, please use 'spec.ingressClassName' instead"
	return []string{fmt.Sprintf(format, IngressClassAnnotation)}
}

func checkIngressStatus(obj, old *networkingv1.Ingress) field.ErrorList {
	errs := resource.CheckMetadataUpdate(obj, old)
	noMode := func(*corev1.LoadBalancerIngress, *field.Path) field.ErrorList { return nil }
	return append(errs, checkPoints(pointsOf(obj), pointsOf(old), noMode)...)
}

// pointsOf returns the addresses of an Ingress as those of a Service.
func pointsOf(obj *networkingv1.Ingress) (points []corev1.LoadBalancerIngress) {
	for _, point := range obj.Status.LoadBalancer.Ingress {
		points = append(points, corev1.LoadBalancerIngress{IP: point.IP, Hostname: point.Hostname})
	}
	return points
}

var ingressColumns = resource.Columns[*networkingv1.Ingress]{
	{Name: "Class", Field: "spec.ingressClassName", Empty: none,
		Doc: "The name of the IngressClass resource that should be used for additional configuration"},
	{Name: "Hosts", Cell: hostsCell, Doc: "Hosts that incoming requests are matched against before the ingress rule"},
	{Name: "Address", Cell: addressCell, Doc: "Address is a list containing ingress points for the load-balancer"},
	{Name: "Ports", Doc: "Ports of TLS configurations that open", Cell: func(ingress *networkingv1.Ingress) any {
		if len(ingress.Spec.TLS) > 0 {
			return "80, 443"
		}
		return "80"
	}},
	{Name: "Age"},
}

func addressCell(ingress *networkingv1.Ingress) any {
	addresses := sets.New[string]()
	for _, point := range ingress.Status.LoadBalancer.Ingress {
		addresses.Insert(balancerAddress(point.IP, point.Hostname)...)
	}
	return strings.Join(sets.List(addresses), ",")
}

// hostsCell returns the hosts of the rules. The number of those that are left out counts rules without a host too, as
// kube-apiserver prints it.
func hostsCell(ingress *networkingv1.Ingress) any {
	rules := ingress.Spec.Rules
	var hosts []string
	more := false
	for _, rule := range rules {
		if len(hosts) == maxListed {
			more = true
			break
		}
		if rule.Host != "" {
			hosts = append(hosts, rule.Host)
		}
	}
	switch {
	case len(hosts) == 0:
		return "*"
	case more:
		return andMore(hosts, len(rules)-maxListed)
	}
	return strings.Join(hosts, ",")
}

// balancerAddress returns the address of a load balancer, or nothing.
func balancerAddress(ip, hostname string) []string {
	switch {
	case ip != "":
		return []string{ip}
	case hostname != "":
		return []string{hostname}
	}
	return nil
}
