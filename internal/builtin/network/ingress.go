package network

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

func ingressDefinition() *resource.Definition {
	return &resource.Definition{
		GroupVersion: networkingv1.SchemeGroupVersion, Kind: "Ingress", Plural: "ingresses", Singular: "ingress",
		ShortNames: []string{"ing"}, Namespaced: true, Folder: "ingress",
		Object: &networkingv1.Ingress{}, List: &networkingv1.IngressList{},
		Columns: ingressColumns, Resets: status, Upgrade: upgradeIngress,
		Strategy: resource.Typed[*networkingv1.Ingress]{
			Prepare:       resource.Begin[*networkingv1.Ingress],
			Check:         checkIngressCreate,
			Warn:          ingressWarnings,
			PrepareUpdate: resource.Follow[*networkingv1.Ingress],
			CheckUpdate:   checkIngressUpdate,
		},
		Subresources: []resource.Subresource{{
			Name: "status", Verbs: resource.SubresourceVerbs, Resets: spec,
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

var ingressColumns = &resource.Columns{
	Definitions: []metav1.TableColumnDefinition{
		resource.NameColumn,
		resource.TextColumn("Class",
			"The name of the IngressClass resource that should be used for additional configuration"),
		resource.TextColumn("Hosts", "Hosts that incoming requests are matched against before the ingress rule"),
		resource.TextColumn("Address", "Address is a list containing ingress points for the load-balancer"),
		resource.TextColumn("Ports", "Ports of TLS configurations that open"),
		resource.AgeColumn,
	},
	Cells: func(obj runtime.Object) []any {
		ingress := obj.(*networkingv1.Ingress)
		class, ports := none, "80"
		if name := ingress.Spec.IngressClassName; name != nil {
			class = *name
		}
		if len(ingress.Spec.TLS) > 0 {
			ports = "80, 443"
		}
		addresses := sets.New[string]()
		for _, point := range ingress.Status.LoadBalancer.Ingress {
			addresses.Insert(balancerAddress(point.IP, point.Hostname)...)
		}
		address := strings.Join(sets.List(addresses), ",")
		return []any{ingress.Name, class, hostsCell(ingress.Spec.Rules), address, ports, resource.Age(ingress)}
	},
}

// hostsCell returns the hosts of some rules. The number of those that are left out counts rules without a host too, as
// kube-apiserver prints it.
func hostsCell(rules []networkingv1.IngressRule) string {
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
