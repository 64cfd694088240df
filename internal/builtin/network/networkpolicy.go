package network

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/rules"
)

func networkPolicyDefinition() *resource.Definition {
	return &resource.Definition{
		Object: &networkingv1.NetworkPolicy{}, ShortNames: []string{"netpol"}, Namespaced: true,
		Default: defaultNetworkPolicy, Columns: networkPolicyColumns,
		Strategy: resource.Typed[*networkingv1.NetworkPolicy]{
			Prepare: func(obj *networkingv1.NetworkPolicy) { obj.Generation = 1 },
			Check: func(obj *networkingv1.NetworkPolicy) field.ErrorList {
				errs := resource.CheckMetadata(&obj.ObjectMeta, apivalidation.NameIsDNSSubdomain)
				return append(errs, (&policyCheck{}).spec(&obj.Spec, field.NewPath("spec"))...)
			},
			Warn: networkPolicyWarnings,
			PrepareUpdate: func(obj, old *networkingv1.NetworkPolicy) {
				if !reflect.DeepEqual(obj.Spec, old.Spec) {
					obj.Generation = old.Generation + 1
				}
			},
			CheckUpdate: checkNetworkPolicyUpdate,
			WarnUpdate:  func(obj, _ *networkingv1.NetworkPolicy) []string { return networkPolicyWarnings(obj) },
		},
	}
}

func defaultNetworkPolicy(obj runtime.Object) {
	spec := &obj.(*networkingv1.NetworkPolicy).Spec
	forEachPort(spec, func(port *networkingv1.NetworkPolicyPort) {
		if port.Protocol == nil {
			port.Protocol = new(corev1.ProtocolTCP)
		}
	})
	if len(spec.PolicyTypes) > 0 {
		return
	}
	spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
	if len(spec.Egress) > 0 {
		spec.PolicyTypes = append(spec.PolicyTypes, networkingv1.PolicyTypeEgress)
	}
}

func forEachPort(spec *networkingv1.NetworkPolicySpec, do func(port *networkingv1.NetworkPolicyPort)) {
	for _, rule := range spec.Ingress {
		for n := range rule.Ports {
			do(&rule.Ports[n])
		}
	}
	for _, rule := range spec.Egress {
		for n := range rule.Ports {
			do(&rule.Ports[n])
		}
	}
}

// forEachBlock calls a function for the blocks of addresses of a policy, with their paths.
func forEachBlock(spec *networkingv1.NetworkPolicySpec, do func(block *networkingv1.IPBlock, path *field.Path)) {
	each := func(peers []networkingv1.NetworkPolicyPeer, path *field.Path) {
		for n, peer := range peers {
			if peer.IPBlock != nil {
				do(peer.IPBlock, path.Index(n).Child("ipBlock"))
			}
		}
	}
	for n, rule := range spec.Ingress {
		each(rule.From, field.NewPath("spec", "ingress").Index(n).Child("from"))
	}
	for n, rule := range spec.Egress {
		each(rule.To, field.NewPath("spec", "egress").Index(n).Child("to"))
	}
}

func networkPolicyWarnings(obj *networkingv1.NetworkPolicy) (warnings []string) {
	forEachBlock(&obj.Spec, func(block *networkingv1.IPBlock, path *field.Path) {
		warnings = append(warnings, validation.GetWarningsForCIDR(path.Child("cidr"), block.CIDR)...)
		for n, except := range block.Except {
			warnings = append(warnings, validation.GetWarningsForCIDR(path.Child("except").Index(n), except)...)
		}
	})
	return warnings
}

func checkNetworkPolicyUpdate(obj, old *networkingv1.NetworkPolicy) field.ErrorList {
	check := &policyCheck{}
	forEachBlock(&old.Spec, func(block *networkingv1.IPBlock, _ *field.Path) {
		check.stored = append(append(check.stored, block.CIDR), block.Except...)
	})
	errs := resource.CheckMetadataUpdate(&obj.ObjectMeta, &old.ObjectMeta)
	return append(errs, check.spec(&obj.Spec, field.NewPath("spec"))...)
}

// policyCheck checks the spec of a policy.
type policyCheck struct {
	// stored are the ranges of addresses that the policy had before.
	stored []string
}

func (c *policyCheck) spec(spec *networkingv1.NetworkPolicySpec, path *field.Path) field.ErrorList {
	errs := checkLabelSelector(&spec.PodSelector, path.Child("podSelector"))
	for n, rule := range spec.Ingress {
		at := path.Child("ingress").Index(n)
		errs = append(errs, rules.Each(rule.Ports, at.Child("ports"), checkPolicyPort)...)
		errs = append(errs, rules.Each(rule.From, at.Child("from"), c.peer)...)
	}
	for n, rule := range spec.Egress {
		at := path.Child("egress").Index(n)
		errs = append(errs, rules.Each(rule.Ports, at.Child("ports"), checkPolicyPort)...)
		errs = append(errs, rules.Each(rule.To, at.Child("to"), c.peer)...)
	}
	types := path.Child("policyTypes")
	if len(spec.PolicyTypes) > 2 {
		return append(errs, field.Invalid(types, &spec.PolicyTypes, "may not specify more than two policyTypes"))
	}
	for n, kind := range spec.PolicyTypes {
		errs = append(errs, rules.Known(kind, types.Index(n),
			networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress)...)
	}
	return errs
}

func checkLabelSelector(selector *metav1.LabelSelector, path *field.Path) field.ErrorList {
	return metavalidation.ValidateLabelSelector(selector, metavalidation.LabelSelectorValidationOptions{}, path)
}

func checkPolicyPort(port *networkingv1.NetworkPolicyPort, path *field.Path) (errs field.ErrorList) {
	if port.Protocol != nil {
		errs = rules.Known(*port.Protocol, path.Child("protocol"),
			corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP)
	}
	return append(errs, checkPortRange(port, path)...)
}

func checkPortRange(port *networkingv1.NetworkPolicyPort, path *field.Path) (errs field.ErrorList) {
	end := path.Child("endPort")
	if port.Port == nil {
		if port.EndPort != nil {
			errs = append(errs, field.Invalid(end, *port.EndPort, "may not be specified when `port` is not specified"))
		}
		return errs
	}
	isNumber := port.Port.Type == intstr.Int
	if !isNumber && port.EndPort != nil {
		errs = append(errs, field.Invalid(end, *port.EndPort, "may not be specified when `port` is non-numeric"))
	}
	errs = append(errs, rules.Port(*port.Port, path.Child("port"))...)
	if !isNumber || port.EndPort == nil {
		return errs
	}
	errs = append(errs, rules.When(*port.EndPort < port.Port.IntVal,
		field.Invalid(end, *port.EndPort, "must be greater than or equal to `port`"))...)
	return append(errs, checkPort(*port.EndPort, end)...)
}

func (c *policyCheck) peer(peer *networkingv1.NetworkPolicyPeer, path *field.Path) field.ErrorList {
	errs := append(checkLabelSelector(peer.PodSelector, path.Child("podSelector")),
		checkLabelSelector(peer.NamespaceSelector, path.Child("namespaceSelector"))...)
	selects := peer.PodSelector != nil || peer.NamespaceSelector != nil
	if peer.IPBlock == nil {
		return append(errs, rules.When(!selects, field.Required(path, "must specify a peer"))...)
	}
	errs = append(errs, c.block(peer.IPBlock, path.Child("ipBlock"))...)
	return append(errs, rules.When(selects, field.Forbidden(path, "may not specify both ipBlock and another peer"))...)
}

func (c *policyCheck) block(block *networkingv1.IPBlock, path *field.Path) field.ErrorList {
	if block.CIDR == "" {
		return field.ErrorList{resource.Missing(path.Child("cidr"))}
	}
	errs := checkCIDRUnless(c.stored, block.CIDR, path.Child("cidr"))
	_, all, err := netutils.ParseCIDRSloppy(block.CIDR)
	if err != nil {
		return errs
	}
	size, _ := all.Mask.Size()
	for n, except := range block.Except {
		at := path.Child("except").Index(n)
		errs = append(errs, checkCIDRUnless(c.stored, except, at)...)
		_, part, err := netutils.ParseCIDRSloppy(except)
		if err != nil {
			continue
		}
		if partSize, _ := part.Mask.Size(); !all.Contains(part.IP) || size >= partSize {
			errs = append(errs, field.Invalid(at, except, "must be a strict subset of `cidr`"))
		}
	}
	return errs
}

var networkPolicyColumns = resource.Columns[*networkingv1.NetworkPolicy]{
	{Name: "Pod-Selector", Field: "spec.podSelector"},
	{Name: "Age"},
}
