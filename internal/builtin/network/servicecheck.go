package network

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/rules"
)

var specPath = field.NewPath("spec")

func isBalancer(spec *corev1.ServiceSpec) bool { return spec.Type == corev1.ServiceTypeLoadBalancer }

// forBalancers returns the error of a field that is set, although only Services of the type LoadBalancer have it.
func forBalancers(isSet bool, spec *corev1.ServiceSpec, path *field.Path) field.ErrorList {
	return rules.When(isSet && !isBalancer(spec),
		field.Forbidden(path, "may only be used when `type` is 'LoadBalancer'"))
}

func checkServiceCreate(obj *corev1.Service) field.ErrorList {
	errs := resource.CheckMetadata(obj, apivalidation.NameIsDNSLabel)
	return append(errs, checkService(obj, &corev1.Service{})...)
}

// checkService returns the errors of a Service besides those of its metadata. Addresses that old had may stay, even if
// they were stored by weaker rules. old is empty for a new Service.
func checkService(obj, old *corev1.Service) field.ErrorList {
	spec := &obj.Spec
	return slices.Concat(
		checkTopologyAnnotations(obj.Annotations),
		rules.When(len(spec.Ports) == 0 && !IsHeadless(obj) && NeedsClusterIP(obj),
			field.Required(specPath.Child("ports"), "")),
		checkOfType(obj),
		checkServicePorts(spec.Ports, specPath.Child("ports")),
		metavalidation.ValidateLabels(spec.Selector, specPath.Child("selector")),
		checkAffinity(spec),
		CheckClusterIPs(obj, old),
		checkExternalIPs(spec.ExternalIPs, old.Spec.ExternalIPs),
		rules.OneOf(spec.Type, specPath.Child("type"), corev1.ServiceTypeClusterIP, corev1.ServiceTypeExternalName,
			corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort),
		checkUniquePorts(spec, specPath.Child("ports")),
		checkSourceRanges(obj, old),
		forBalancers(spec.AllocateLoadBalancerNodePorts != nil, spec, specPath.Child("allocateLoadBalancerNodePorts")),
		checkBalancerClass(spec),
		checkExternalTraffic(obj),
		checkInternalTraffic(spec),
	)
}

func checkExternalIPs(ips, stored []string) (errs field.ErrorList) {
	for n, ip := range ips {
		at := specPath.Child("externalIPs").Index(n)
		wrong := checkNew(ip, stored, at, validation.IsValidIP)
		if len(wrong) == 0 {
			wrong = checkEndpointIP(ip, at)
		}
		errs = append(errs, wrong...)
	}
	return errs
}

func checkTopologyAnnotations(annotations map[string]string) field.ErrorList {
	hints, hintsSet := annotations[corev1.DeprecatedAnnotationTopologyAwareHints]
	mode, modeSet := annotations[corev1.AnnotationTopologyMode]
	if !hintsSet || !modeSet || hints == mode {
		return nil
	}
	path := field.NewPath("metadata", "annotations").Key(corev1.AnnotationTopologyMode)
	return field.ErrorList{field.Invalid(path, mode,
		fmt.Sprintf("must match annotations[%s] when both are specified", corev1.DeprecatedAnnotationTopologyAwareHints))}
}

// checkOfType returns the errors of fields that the type of a Service excludes or needs.
func checkOfType(obj *corev1.Service) field.ErrorList {
	spec := &obj.Spec
	switch spec.Type {
	case corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort:
		if IsHeadless(obj) {
			return field.ErrorList{field.Invalid(specPath.Child("clusterIPs").Index(0), spec.ClusterIPs[0],
				fmt.Sprintf("may not be set to 'None' for %s services", spec.Type))}
		}
	case corev1.ServiceTypeExternalName:
		forbid := func(set bool, name string) field.ErrorList {
			return rules.When(set, field.Forbidden(specPath.Child(name), "may not be set for ExternalName services"))
		}
		return slices.Concat(
			forbid(len(spec.ClusterIPs) > 0, "clusterIPs"),
			forbid(len(spec.IPFamilies) > 0, "ipFamilies"),
			forbid(spec.IPFamilyPolicy != nil, "ipFamilyPolicy"),
			rules.RequiredName(strings.TrimSuffix(spec.ExternalName, "."), specPath.Child("externalName"),
				apivalidation.NameIsDNSSubdomain),
		)
	}
	return nil
}

func checkServicePorts(ports []corev1.ServicePort, path *field.Path) field.ErrorList {
	names := sets.New[string]()
	return rules.Each(ports, path, func(port *corev1.ServicePort, path *field.Path) field.ErrorList {
		isDouble := port.Name != "" && names.Has(port.Name)
		names.Insert(port.Name)
		return slices.Concat(
			rules.When(port.Name == "" && len(ports) > 1, field.Required(path.Child("name"), "")),
			rules.Name(port.Name, path.Child("name"), apivalidation.NameIsDNSLabel),
			rules.When(isDouble, field.Duplicate(path.Child("name"), port.Name)),
			checkPort(port.Port, path.Child("port")),
			rules.OneOf(port.Protocol, path.Child("protocol"), corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP),
			rules.Port(port.TargetPort, path.Child("targetPort")),
			rules.Optional(port.AppProtocol, path.Child("appProtocol"), rules.QualifiedName),
		)
	})
}

func checkAffinity(spec *corev1.ServiceSpec) (errs field.ErrorList) {
	errs = rules.OneOf(spec.SessionAffinity, specPath.Child("sessionAffinity"),
		corev1.ServiceAffinityClientIP, corev1.ServiceAffinityNone)
	config := spec.SessionAffinityConfig // which has a default
	if config == nil || config.ClientIP == nil || config.ClientIP.TimeoutSeconds == nil {
		return errs
	}
	path := specPath.Child("sessionAffinityConfig", "clientIP", "timeoutSeconds")
	seconds := *config.ClientIP.TimeoutSeconds
	return append(errs, rules.When(seconds <= 0 || seconds > maxAffinityTimeout,
		field.Invalid(path, seconds, fmt.Sprintf("must be greater than 0 and less than %d", maxAffinityTimeout)))...)
}

// maxAffinityTimeout is the longest time that a client is sent to the same endpoint, in seconds.
const maxAffinityTimeout = 24 * 60 * 60

// shownPort is a port as kube-apiserver shows it in an error: with the names of its internal type.
type shownPort struct {
	Name        string
	Protocol    corev1.Protocol
	AppProtocol *string
	Port        int32
	TargetPort  int
	NodePort    int32
}

// checkUniquePorts returns the errors of ports and node ports that a Service has twice for a protocol, and of node
// ports of a type that has none.
func checkUniquePorts(spec *corev1.ServiceSpec, path *field.Path) (errs field.ErrorList) {
	for n, port := range spec.Ports {
		errs = append(errs, rules.When(spec.Type == corev1.ServiceTypeClusterIP && port.NodePort != 0,
			field.Forbidden(path.Index(n).Child("nodePort"), "may not be used when `type` is 'ClusterIP'"))...)
	}
	nodePorts, ports := sets.New[shownPort](), sets.New[shownPort]()
	for n, port := range spec.Ports {
		key := shownPort{Protocol: port.Protocol, NodePort: port.NodePort}
		errs = append(errs, rules.When(nodePorts.Has(key) && port.NodePort != 0,
			field.Duplicate(path.Index(n).Child("nodePort"), port.NodePort))...)
		nodePorts.Insert(key)
	}
	for n, port := range spec.Ports {
		key := shownPort{Protocol: port.Protocol, Port: port.Port}
		errs = append(errs, rules.When(ports.Has(key), field.Duplicate(path.Index(n), key))...)
		ports.Insert(key)
	}
	return errs
}

// checkSourceRanges returns the errors of the field for the clients of a load balancer, or of the annotation for them.
func checkSourceRanges(obj, old *corev1.Service) (errs field.ErrorList) {
	if ranges := obj.Spec.LoadBalancerSourceRanges; len(ranges) > 0 {
		path := specPath.Child("LoadBalancerSourceRanges")
		errs = forBalancers(true, &obj.Spec, path)
		stored := trimmed(old.Spec.LoadBalancerSourceRanges)
		for n, cidr := range trimmed(ranges) {
			errs = append(errs, checkNew(cidr, stored, path.Index(n), validation.IsValidCIDR)...)
		}
		return errs
	}
	value, found := obj.Annotations[corev1.AnnotationLoadBalancerSourceRangesKey]
	if !found {
		return nil
	}
	path := field.NewPath("metadata", "annotations").Key(corev1.AnnotationLoadBalancerSourceRangesKey)
	errs = forBalancers(true, &obj.Spec, path)
	if stored, found := old.Annotations[corev1.AnnotationLoadBalancerSourceRangesKey]; found && stored == value ||
		strings.TrimSpace(value) == "" {
		return errs
	}
	for _, cidr := range trimmed(strings.Split(value, ",")) {
		errs = append(errs, validation.IsValidCIDR(path, cidr)...)
	}
	return errs
}

func trimmed(values []string) []string {
	all := make([]string, len(values))
	for n, value := range values {
		all[n] = strings.TrimSpace(value)
	}
	return all
}

func checkBalancerClass(spec *corev1.ServiceSpec) field.ErrorList {
	path := specPath.Child("loadBalancerClass")
	if isBalancer(spec) {
		return rules.Optional(spec.LoadBalancerClass, path, rules.QualifiedName)
	}
	return forBalancers(spec.LoadBalancerClass != nil, spec, path)
}

func checkExternalTraffic(obj *corev1.Service) (errs field.ErrorList) {
	spec, policy := &obj.Spec, specPath.Child("externalTrafficPolicy")
	if ReachableFromOutside(obj) {
		errs = rules.OneOf(spec.ExternalTrafficPolicy, policy,
			corev1.ServiceExternalTrafficPolicyCluster, corev1.ServiceExternalTrafficPolicyLocal)
	} else {
		errs = rules.When(spec.ExternalTrafficPolicy != "", field.Invalid(policy, spec.ExternalTrafficPolicy,
			"may only be set for externally-accessible services"))
	}
	port := specPath.Child("healthCheckNodePort")
	if !NeedsHealthCheck(obj) {
		return append(errs, rules.When(spec.HealthCheckNodePort != 0, field.Invalid(port, spec.HealthCheckNodePort,
			"may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"))...)
	}
	if spec.HealthCheckNodePort == 0 {
		return append(errs, field.Required(port, ""))
	}
	return append(errs, checkPort(spec.HealthCheckNodePort, port)...)
}

// checkInternalTraffic returns the errors of the fields that choose an endpoint.
func checkInternalTraffic(spec *corev1.ServiceSpec) field.ErrorList {
	cluster, near := corev1.ServiceInternalTrafficPolicyCluster, corev1.ServiceTrafficDistributionPreferClose
	return append(
		rules.Known(ptr.Deref(spec.InternalTrafficPolicy, cluster), specPath.Child("internalTrafficPolicy"),
			cluster, corev1.ServiceInternalTrafficPolicyLocal),
		rules.Known(ptr.Deref(spec.TrafficDistribution, near), specPath.Child("trafficDistribution"),
			near, corev1.ServiceTrafficDistributionPreferSameZone, corev1.ServiceTrafficDistributionPreferSameNode)...)
}
