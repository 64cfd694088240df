package network

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
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
	if !NeedsClusterIP(obj) {
		return nil // checkOfType excludes these fields
	}
	ip, ips := obj.Spec.ClusterIP, obj.Spec.ClusterIPs
	refuse := func(is bool, message string) {
		errs = append(errs, rules.When(is, field.Invalid(clusterIPsPath, ips, message))...)
	}
	errs = rules.When(ip != "" && len(ips) == 0, field.Required(clusterIPsPath, ""))
	refuse(ip != "" && len(ips) > 0 && ips[0] != ip, "first value must match `clusterIP`")
	refuse(ip == "" && len(ips) > 0, "must be empty when `clusterIP` is not specified")
	errs = append(errs, checkFamilies(&obj.Spec)...)

	isNone := len(ips) > 0 && ips[0] == corev1.ClusterIPNone
	isInvalid := isNone && len(ips) > 1
	refuse(isInvalid, "'None' must be the first and only value")
	for n, ip := range ips {
		if n > 0 || !isNone {
			wrong := checkNew(ip, old.Spec.ClusterIPs, clusterIPsPath.Index(n), validation.IsValidIP)
			isInvalid = isInvalid || len(wrong) > 0
			errs = append(errs, wrong...)
		}
	}
	refuse(len(ips) > 2, "may only hold up to 2 values")
	if isInvalid {
		return errs
	}
	isDual, err := netutils.IsDualStackIPStrings(ips)
	refuse(len(ips) > 1 && (err != nil || !isDual), "may specify no more than one IP for each IP family")
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

// checkClusterIPsUpdate returns the errors of a change of the addresses of a Service and of their families. It may get
// a second one, and give it up again.
func checkClusterIPsUpdate(obj, old *corev1.Service) (errs field.ErrorList) {
	if !NeedsClusterIP(obj) || !NeedsClusterIP(old) {
		return nil
	}
	ips, families := obj.Spec.ClusterIPs, obj.Spec.IPFamilies
	if !IsHeadless(old) || !IsHeadless(obj) {
		for _, n := range changed(ips, old.Spec.ClusterIPs) {
			errs = append(errs, field.Invalid(clusterIPsPath.Index(n), ips, unchangeable))
		}
	}
	if !IsHeadless(old) && !IsHeadless(obj) {
		var shown any = families
		if len(families) != len(old.Spec.IPFamilies) {
			shown = ips // as kube-apiserver does
		}
		for range changed(families, old.Spec.IPFamilies) {
			errs = append(errs, field.Invalid(ipFamiliesPath.Index(0), shown, unchangeable))
		}
	}
	return errs
}

// changed returns the indexes of the values that have changed and are neither added nor removed.
func changed[T comparable](after, before []T) (indexes []int) {
	for n := range min(len(after), len(before)) {
		if after[n] != before[n] {
			indexes = append(indexes, n)
		}
	}
	return indexes
}
