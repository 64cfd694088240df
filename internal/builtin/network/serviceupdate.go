package network

import (
	"fmt"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/rules"
)

// prepareService clears what clients cannot set. kube-apiserver stores the internal traffic policy of a Service of the
// type ExternalName, and never shows it.
func prepareService(obj *corev1.Service) {
	obj.Status = corev1.ServiceStatus{}
	if !NeedsClusterIP(obj) {
		obj.Spec.InternalTrafficPolicy = nil
	}
}

// prepareServiceUpdate keeps the status, and clears fields that the new type of a Service does not have, unless the
// client has changed them too: these are refused.
func prepareServiceUpdate(obj, old *corev1.Service) {
	prepareService(obj)
	obj.Status = old.Status
	after, before := &obj.Spec, &old.Spec
	if NeedsClusterIP(old) && !NeedsClusterIP(obj) {
		clearClusterIPs(after, before)
	}
	if NeedsNodePorts(old) && !NeedsNodePorts(obj) && NodePorts(old).IsSuperset(NodePorts(obj)) {
		for n := range after.Ports {
			after.Ports[n].NodePort = 0
		}
	}
	if NeedsHealthCheck(old) && !NeedsHealthCheck(obj) {
		clearSame(&after.HealthCheckNodePort, before.HealthCheckNodePort)
	}
	if isBalancer(before) && !isBalancer(after) {
		clearSame(&after.AllocateLoadBalancerNodePorts, before.AllocateLoadBalancerNodePorts)
		clearSame(&after.LoadBalancerClass, before.LoadBalancerClass)
	}
	if ReachableFromOutside(old) && !ReachableFromOutside(obj) {
		clearSame(&after.ExternalTrafficPolicy, before.ExternalTrafficPolicy)
	}
	if !isBalancer(after) {
		obj.Status.LoadBalancer = corev1.LoadBalancerStatus{}
	}
}

func clearClusterIPs(after, before *corev1.ServiceSpec) {
	if after.ClusterIP == before.ClusterIP && slices.Equal(after.ClusterIPs, before.ClusterIPs) {
		after.ClusterIP, after.ClusterIPs = "", nil
	}
	clearSame(&after.IPFamilies, before.IPFamilies)
	clearSame(&after.IPFamilyPolicy, before.IPFamilyPolicy)
}

// clearSame clears a field that has the value that it had before.
func clearSame[T any](field *T, before T) {
	if reflect.DeepEqual(*field, before) {
		*field = *new(T)
	}
}

// NodePorts returns the node ports of the ports of a Service.
func NodePorts(obj *corev1.Service) sets.Set[int32] {
	ports := sets.New[int32]()
	for _, port := range obj.Spec.Ports {
		if port.NodePort != 0 {
			ports.Insert(port.NodePort)
		}
	}
	return ports
}

func checkServiceUpdate(obj, old *corev1.Service) field.ErrorList {
	errs := resource.CheckMetadataUpdate(obj, old)
	errs = append(errs, checkClusterIPsUpdate(obj, old)...)
	if class := obj.Spec.LoadBalancerClass; isBalancer(&obj.Spec) && isBalancer(&old.Spec) &&
		!ptr.Equal(class, old.Spec.LoadBalancerClass) {
		errs = append(errs, field.Invalid(specPath.Child("loadBalancerClass"), class, unchangeable))
	}
	errs = append(errs, checkBalancerClass(&obj.Spec)...)
	if NeedsHealthCheck(old) && NeedsHealthCheck(obj) && obj.Spec.HealthCheckNodePort != old.Spec.HealthCheckNodePort {
		errs = append(errs, field.Forbidden(specPath.Child("healthCheckNodePort"), "field is immutable"))
	}
	return append(errs, checkService(obj, old)...)
}

func checkServiceStatus(obj, old *corev1.Service) field.ErrorList {
	errs := resource.CheckMetadataUpdate(obj, old)
	points := obj.Status.LoadBalancer.Ingress
	if !isBalancer(&obj.Spec) && len(points) > 0 {
		return append(errs, field.Forbidden(balancerPath, "may only be used when `spec.type` is 'LoadBalancer'"))
	}
	return append(errs, checkPoints(points, old.Status.LoadBalancer.Ingress, checkIPMode)...)
}

func checkIPMode(point *corev1.LoadBalancerIngress, path *field.Path) field.ErrorList {
	switch {
	case point.IPMode == nil:
		return rules.When(point.IP != "", field.Required(path, "must be specified when `ip` is set"))
	case point.IP == "":
		return field.ErrorList{field.Forbidden(path, "may not be specified when `ip` is not set")}
	}
	return rules.Known(*point.IPMode, path, corev1.LoadBalancerIPModeProxy, corev1.LoadBalancerIPModeVIP)
}

func serviceWarnings(obj *corev1.Service) (warnings []string) {
	spec := &obj.Spec
	warn := func(is bool, format string, args ...any) {
		if is {
			warnings = append(warnings, fmt.Sprintf(format, args...))
		}
	}
	_, hints := obj.Annotations[corev1.DeprecatedAnnotationTopologyAwareHints]
	warn(hints, "annotation %s is deprecated, please use %s instead",
		corev1.DeprecatedAnnotationTopologyAwareHints, corev1.AnnotationTopologyMode)
	isHeadless := spec.Type == corev1.ServiceTypeClusterIP && spec.ClusterIP == corev1.ClusterIPNone
	isName := spec.Type == corev1.ServiceTypeExternalName
	if spec.ClusterIP != "" && spec.ClusterIP != corev1.ClusterIPNone {
		warnings = append(warnings, warnEach(spec.ClusterIPs, clusterIPsPath, validation.GetWarningsForIP)...)
	}
	warn(isHeadless && spec.LoadBalancerIP != "", "spec.loadBalancerIP is ignored for headless services")
	warn(isHeadless && len(spec.ExternalIPs) > 0, "spec.externalIPs is ignored for headless services")
	warn(isHeadless && spec.SessionAffinity != corev1.ServiceAffinityNone,
		"spec.SessionAffinity is ignored for headless services")
	warnings = append(warnings,
		warnEach(spec.ExternalIPs, specPath.Child("externalIPs"), validation.GetWarningsForIP)...)
	warn(len(spec.ExternalIPs) > 0 && !isHeadless && !isName,
		"spec.externalIPs is deprecated and may no longer be implemented in some clusters")
	if spec.LoadBalancerIP != "" {
		warnings = append(warnings, validation.GetWarningsForIP(specPath.Child("loadBalancerIP"), spec.LoadBalancerIP)...)
	}
	warnings = append(warnings, warnEach(spec.LoadBalancerSourceRanges, specPath.Child("loadBalancerSourceRanges"),
		validation.GetWarningsForCIDR)...)
	warn(isName && len(spec.ExternalIPs) > 0, "spec.externalIPs is ignored when spec.type is %q", spec.Type)
	warn(!isName && spec.ExternalName != "", "spec.externalName is ignored when spec.type is not %q",
		corev1.ServiceTypeExternalName)
	warn(ptr.Deref(spec.TrafficDistribution, "") == corev1.ServiceTrafficDistributionPreferClose,
		"spec.trafficDistribution: %q is deprecated; use %q",
		corev1.ServiceTrafficDistributionPreferClose, corev1.ServiceTrafficDistributionPreferSameZone)
	return warnings
}
