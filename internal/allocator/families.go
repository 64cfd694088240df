package allocator

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/network"
)

var (
	clusterIPsPath = field.NewPath("spec", "clusterIPs")
	familiesPath   = field.NewPath("spec", "ipFamilies")
	policyPath     = field.NewPath("spec", "ipFamilyPolicy")
)

// setFamilies completes the policy and the IP families of a Service.
func (r *request) setFamilies() error {
	spec := &r.service.Spec
	if !network.NeedsClusterIP(r.service) || r.keepsPreferred() {
		return nil
	}
	headless := spec.ClusterIP == corev1.ClusterIPNone && len(spec.Selector) == 0
	policy := corev1.IPFamilyPolicySingleStack
	if headless { // the client makes its endpoints, which may have addresses of both families
		policy = corev1.IPFamilyPolicyRequireDualStack
	}
	spec.IPFamilyPolicy = cmp.Or(spec.IPFamilyPolicy, r.old.Spec.IPFamilyPolicy, &policy)
	// Later steps rely on addresses and families that fit.
	if errs := network.CheckClusterIPs(r.service, r.old); len(errs) > 0 {
		return r.invalid(errs)
	}
	errs := r.checkPolicy()
	errs = append(errs, r.addFamiliesOfIPs()...)
	if len(errs) > 0 {
		return r.invalid(errs)
	}
	if headless {
		r.completeFamilies(2)
		return nil
	}
	if errs := r.checkConfigured(); len(errs) > 0 {
		return r.invalid(errs)
	}
	r.completeFamilies(len(r.ranges))
	return nil
}

// keepsPreferred reports whether an update leaves the addresses of a Service that prefers two as they are. A Service
// that got only one when it was created keeps that one.
func (r *request) keepsPreferred() bool {
	after, before := &r.service.Spec, &r.old.Spec
	prefers := corev1.IPFamilyPolicyPreferDualStack
	return r.updates && ptr.Deref(after.IPFamilyPolicy, "") == prefers && after.Type == before.Type &&
		ptr.Deref(before.IPFamilyPolicy, prefers) == prefers &&
		slices.Equal(after.ClusterIPs, before.ClusterIPs) && slices.Equal(after.IPFamilies, before.IPFamilies)
}

// checkPolicy returns an error if there are more addresses or families than the policy allows, or fewer than before. A
// Service that becomes single stack gives up its second address.
func (r *request) checkPolicy() (errs field.ErrorList) {
	after, before := &r.service.Spec, &r.old.Spec
	isSingle := ptr.Deref(after.IPFamilyPolicy, "") == corev1.IPFamilyPolicySingleStack
	refuse := func(is bool, message string) {
		if is {
			errs = append(errs, field.Invalid(policyPath, after.IPFamilyPolicy, message))
		}
	}
	switch {
	case r.updates && isSingle:
		if slices.Equal(after.ClusterIPs, before.ClusterIPs) && len(after.ClusterIPs) > 1 {
			after.ClusterIPs = after.ClusterIPs[:1]
		}
		if slices.Equal(after.IPFamilies, before.IPFamilies) && len(after.IPFamilies) > 1 {
			after.IPFamilies = after.IPFamilies[:1]
		}
	case r.updates:
		refuse(isReduced(after.ClusterIPs, before.ClusterIPs), "must be 'SingleStack' to release the secondary cluster IP")
		refuse(isReduced(after.IPFamilies, before.IPFamilies), "must be 'SingleStack' to release the secondary IP family")
	}
	if isSingle {
		const both = "must be 'RequireDualStack' or 'PreferDualStack' when multiple "
		refuse(len(after.ClusterIPs) == 2, both+"cluster IPs are specified")
		refuse(len(after.IPFamilies) == 2, both+"IP families are specified")
	}
	return errs
}

// isReduced reports whether only the first of two values is left.
func isReduced[T comparable](after, before []T) bool {
	return len(after) == 1 && len(before) == 2 && after[0] == before[0]
}

// addFamiliesOfIPs adds the families of the addresses that the client has named.
func (r *request) addFamiliesOfIPs() (errs field.ErrorList) {
	spec := &r.service.Spec
	for n, ip := range spec.ClusterIPs {
		if ip == corev1.ClusterIPNone {
			break
		}
		if n < len(spec.IPFamilies) {
			continue
		}
		family := corev1.IPv4Protocol
		if netutils.IsIPv6String(ip) {
			family = corev1.IPv6Protocol
		}
		if r.ranges[family] == nil {
			errs = append(errs, field.Invalid(clusterIPsPath.Index(n), spec.ClusterIPs,
				fmt.Sprintf("%s is not configured on this cluster", family)))
			continue
		}
		spec.IPFamilies = append(spec.IPFamilies, family)
	}
	return errs
}

// checkConfigured returns the errors of families that have no range.
func (r *request) checkConfigured() (errs field.ErrorList) {
	spec := &r.service.Spec
	if *spec.IPFamilyPolicy == corev1.IPFamilyPolicyRequireDualStack && len(r.ranges) < 2 {
		errs = append(errs, field.Invalid(policyPath, spec.IPFamilyPolicy,
			"this cluster is not configured for dual-stack services"))
	}
	for n, family := range spec.IPFamilies {
		if r.ranges[family] == nil {
			errs = append(errs, field.Invalid(familiesPath.Index(n), family, "not configured on this cluster"))
		}
	}
	return errs
}

// completeFamilies adds the first family if there is none, and the second one if the policy allows it and two are
// available.
func (r *request) completeFamilies(available int) {
	spec := &r.service.Spec
	if len(spec.IPFamilies) == 0 {
		spec.IPFamilies = []corev1.IPFamily{r.primary}
	}
	if *spec.IPFamilyPolicy == corev1.IPFamilyPolicySingleStack || len(spec.IPFamilies) > 1 || available < 2 {
		return
	}
	second := corev1.IPv4Protocol
	if spec.IPFamilies[0] == corev1.IPv4Protocol {
		second = corev1.IPv6Protocol
	}
	spec.IPFamilies = append(spec.IPFamilies, second)
}
