package network

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"github.com/crd-server/crd-server/internal/builtin/rules"
)

var (
	clusterIPsPath     = specPath.Child("clusterIPs")
	ipFamiliesPath     = specPath.Child("ipFamilies")
	ipFamilyPolicyPath = specPath.Child("ipFamilyPolicy")
)

// CheckClusterIPs returns the errors of the addresses of a Service and of their families. Addresses that old had are
// not checked.
func CheckClusterIPs(obj, old *corev1.Service) (errs field.ErrorList) {
	spec := &obj.Spec
	if !NeedsClusterIP(obj) {
		return nil // checkOfType excludes these fields
	}
	switch {
	case spec.ClusterIP != "" && len(spec.ClusterIPs) == 0:
		errs = append(errs, field.Required(clusterIPsPath, ""))
	case spec.ClusterIP != "" && spec.ClusterIPs[0] != spec.ClusterIP:
		errs = append(errs, field.Invalid(clusterIPsPath, spec.ClusterIPs, "first value must match `clusterIP`"))
	case spec.ClusterIP == "" && len(spec.ClusterIPs) > 0:
		errs = append(errs, field.Invalid(clusterIPsPath, spec.ClusterIPs,
			"must be empty when `clusterIP` is not specified"))
	}
	errs = append(errs, checkFamilies(spec)...)
	invalid, isInvalid := checkAddressesOf(spec, old.Spec.ClusterIPs)
	errs = append(errs, invalid...)
	if isInvalid {
		return errs
	}
	if len(spec.ClusterIPs) > 1 {
		if dual, err := netutils.IsDualStackIPStrings(spec.ClusterIPs); err != nil || !dual {
			errs = append(errs, field.Invalid(clusterIPsPath, spec.ClusterIPs,
				"may specify no more than one IP for each IP family"))
		}
	}
	return append(errs, checkFamiliesOfAddresses(obj)...)
}

func checkFamilies(spec *corev1.ServiceSpec) (errs field.ErrorList) {
	seen := sets.New[corev1.IPFamily]()
	for n, family := range spec.IPFamilies {
		at := ipFamiliesPath.Index(n)
		errs = append(errs, rules.Known(family, at, corev1.IPv4Protocol, corev1.IPv6Protocol)...)
		errs = append(errs, rules.When(seen.Has(family), field.Duplicate(at, family))...)
		seen.Insert(family)
	}
	if policy := spec.IPFamilyPolicy; policy != nil {
		errs = append(errs, rules.Known(*policy, ipFamilyPolicyPath, corev1.IPFamilyPolicyPreferDualStack,
			corev1.IPFamilyPolicyRequireDualStack, corev1.IPFamilyPolicySingleStack)...)
	}
	return errs
}

// checkAddressesOf returns the errors of the addresses. isInvalid says that one of them is no address, so that nothing
// else can be checked of them.
func checkAddressesOf(spec *corev1.ServiceSpec, stored []string) (errs field.ErrorList, isInvalid bool) {
	for n, ip := range spec.ClusterIPs {
		if n == 0 && ip == corev1.ClusterIPNone {
			if len(spec.ClusterIPs) > 1 {
				isInvalid = true
				errs = append(errs, field.Invalid(clusterIPsPath, spec.ClusterIPs, "'None' must be the first and only value"))
			}
			continue
		}
		wrong := checkIPUnless(stored, ip, clusterIPsPath.Index(n))
		isInvalid = isInvalid || len(wrong) > 0
		errs = append(errs, wrong...)
	}
	if len(spec.ClusterIPs) > 2 {
		errs = append(errs, field.Invalid(clusterIPsPath, spec.ClusterIPs, "may only hold up to 2 values"))
	}
	return errs, isInvalid
}

func checkFamiliesOfAddresses(obj *corev1.Service) (errs field.ErrorList) {
	if IsHeadless(obj) {
		return nil
	}
	for n, ip := range obj.Spec.ClusterIPs[:min(len(obj.Spec.ClusterIPs), len(obj.Spec.IPFamilies))] {
		family := obj.Spec.IPFamilies[n]
		if isIPv6 := netutils.IsIPv6String(ip); isIPv6 == (family == corev1.IPv4Protocol) {
			errs = append(errs, field.Invalid(clusterIPsPath.Index(n), ip,
				fmt.Sprintf("expected an %s value as indicated by `ipFamilies[%v]`", family, n)))
		}
	}
	return errs
}

const unchangeable = "may not change once set"

// checkClusterIPsUpdate returns the errors of a change of the addresses of a Service. It may get a second one, and give
// it up again.
func checkClusterIPsUpdate(obj, old *corev1.Service) (errs field.ErrorList) {
	if !NeedsClusterIP(obj) || !NeedsClusterIP(old) || IsHeadless(old) && IsHeadless(obj) {
		return nil
	}
	after, before, first := obj.Spec.ClusterIPs, old.Spec.ClusterIPs, clusterIPsPath.Index(0)
	if len(after) == len(before) {
		for n, ip := range before {
			if ip != after[n] {
				errs = append(errs, field.Invalid(clusterIPsPath.Index(n), after, unchangeable))
			}
		}
		return errs
	}
	if len(after) > 0 && len(before) > 0 && after[0] != before[0] {
		errs = append(errs, field.Invalid(first, after, unchangeable))
	}
	return errs
}

// checkIPFamiliesUpdate is checkClusterIPsUpdate for the families of the addresses.
func checkIPFamiliesUpdate(obj, old *corev1.Service) (errs field.ErrorList) {
	if !NeedsClusterIP(obj) || !NeedsClusterIP(old) || IsHeadless(old) || IsHeadless(obj) {
		return nil
	}
	after, before, first := obj.Spec.IPFamilies, old.Spec.IPFamilies, ipFamiliesPath.Index(0)
	if len(after) == len(before) {
		for n, family := range before {
			if family != after[n] {
				errs = append(errs, field.Invalid(first, after, unchangeable))
			}
		}
		return errs
	}
	if len(after) > 0 && len(before) > 0 && after[0] != before[0] {
		errs = append(errs, field.Invalid(first, obj.Spec.ClusterIPs, unchangeable))
	}
	return errs
}
