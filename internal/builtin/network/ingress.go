package network

import (
	"fmt"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

func ingressDefinition() *resource.Definition {
	return &resource.Definition{
		Object: &networkingv1.Ingress{}, ShortNames: []string{"ing"}, Namespaced: true, Folder: "ingress",
		Columns: ingressColumns, Resets: status, Upgrade: upgradeIngress,
		Strategy: resource.Typed[*networkingv1.Ingress]{
			Prepare: func(obj *networkingv1.Ingress) { obj.Status, obj.Generation = networkingv1.IngressStatus{}, 1 },
			Check:   checkIngressCreate,
			Warn:    ingressWarnings,
			PrepareUpdate: func(obj, old *networkingv1.Ingress) {
				obj.Status = old.Status
				if !apiequality.Semantic.DeepEqual(obj.Spec, old.Spec) {
					obj.Generation = old.Generation + 1
				}
			},
			CheckUpdate: checkIngressUpdate,
		},
		Subresources: []resource.Subresource{{
			Name: "status", Resets: spec,
			Strategy: resource.Typed[*networkingv1.Ingress]{
				PrepareUpdate: func(obj, old *networkingv1.Ingress) { obj.Spec = old.Spec },
				CheckUpdate:   checkIngressStatus,
				WarnUpdate:    func(obj, _ *networkingv1.Ingress) []string { return ingressStatusWarnings(obj) },
			},
		}},
	}
}

// ingressClassAnnotation named the class before there was a field.
const ingressClassAnnotation = "kubernetes.io/ingress.class"

func ingressWarnings(obj *networkingv1.Ingress) []string {
	if _, found := obj.Annotations[ingressClassAnnotation]; !found || obj.Spec.IngressClassName != nil {
		return nil
	}
	const format = "annotation %q is deprecated, please use 'spec.ingressClassName' instead"
	return []string{fmt.Sprintf(format, ingressClassAnnotation)}
}

var balancerPath = field.NewPath("status", "loadBalancer", "ingress")

func ingressStatusWarnings(obj *networkingv1.Ingress) (warnings []string) {
	for n, ingress := range obj.Status.LoadBalancer.Ingress {
		if ingress.IP != "" {
			warnings = append(warnings, validation.GetWarningsForIP(balancerPath.Index(n), ingress.IP)...)
		}
	}
	return warnings
}

func checkIngressStatus(obj, old *networkingv1.Ingress) field.ErrorList {
	errs := resource.CheckMetadataUpdate(&obj.ObjectMeta, &old.ObjectMeta)
	var stored []string
	for _, ingress := range old.Status.LoadBalancer.Ingress {
		stored = append(stored, ingress.IP)
	}
	for n, p := range obj.Status.LoadBalancer.Ingress {
		errs = append(errs, checkPoint(point{p.IP, p.Hostname}, stored, balancerPath.Index(n))...)
	}
	return errs
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
