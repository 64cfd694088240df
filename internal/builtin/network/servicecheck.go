package network

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

var specPath = field.NewPath("spec")

// onlyForBalancers is the error of a field that only Services of the type LoadBalancer have.
const onlyForBalancers = "may only be used when `type` is 'LoadBalancer'"

func checkServiceCreate(obj *corev1.Service) field.ErrorList {
	errs := resource.CheckMetadata(&obj.ObjectMeta, apivalidation.NameIsDNSLabel)
	return append(errs, checkService(obj, &corev1.Service{})...)
}

// checkService returns the errors of a Service besides those of its metadata. Addresses that old had may stay, even if
// they were stored by weaker rules. old is empty for a new Service.
func checkService(obj, old *corev1.Service) (errs field.ErrorList) {
	spec := &obj.Spec
	errs = append(errs, checkTopologyAnnotations(obj.Annotations)...)
	if len(spec.Ports) == 0 && !IsHeadless(obj) && NeedsClusterIP(obj) {
		errs = append(errs, field.Required(specPath.Child("ports"), ""))
	}
	errs = append(errs, checkOfType(obj)...)
	errs = append(errs, checkServicePorts(spec.Ports, specPath.Child("ports"))...)
	if spec.Selector != nil {
		errs = append(errs, metavalidation.ValidateLabels(spec.Selector, specPath.Child("selector"))...)
	}
	errs = append(errs, checkAffinity(spec)...)
	errs = append(errs, CheckClusterIPs(obj, old)...)
	for n, ip := range spec.ExternalIPs {
		at := specPath.Child("externalIPs").Index(n)
		if wrong := checkIPUnless(old.Spec.ExternalIPs, ip, at); len(wrong) > 0 {
			errs = append(errs, wrong...)
			continue
		}
		errs = append(errs, checkEndpointIP(ip, at)...)
	}
	if spec.Type == "" {
		errs = append(errs, field.Required(specPath.Child("type"), ""))
	} else {
		errs = append(errs, resource.CheckSupported(specPath.Child("type"), spec.Type, corev1.ServiceTypeClusterIP,
			corev1.ServiceTypeExternalName, corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort)...)
	}
	errs = append(errs, checkUniquePorts(spec, specPath.Child("ports"))...)
	errs = append(errs, checkSourceRanges(obj, old)...)
	errs = append(errs, checkNodePortAllocation(spec)...)
	errs = append(errs, checkBalancerClass(spec)...)
	errs = append(errs, checkExternalTraffic(obj)...)
	return append(errs, checkInternalTraffic(spec)...)
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
func checkOfType(obj *corev1.Service) (errs field.ErrorList) {
	spec := &obj.Spec
	switch spec.Type {
	case corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort:
		if IsHeadless(obj) {
			errs = append(errs, field.Invalid(specPath.Child("clusterIPs").Index(0), spec.ClusterIPs[0],
				fmt.Sprintf("may not be set to 'None' for %s services", spec.Type)))
		}
	case corev1.ServiceTypeExternalName:
		forbid := func(set bool, name string) {
			if set {
				errs = append(errs, field.Forbidden(specPath.Child(name), "may not be set for ExternalName services"))
			}
		}
		forbid(len(spec.ClusterIPs) > 0, "clusterIPs")
		forbid(len(spec.IPFamilies) > 0, "ipFamilies")
		forbid(spec.IPFamilyPolicy != nil, "ipFamilyPolicy")
		path, name := specPath.Child("externalName"), strings.TrimSuffix(spec.ExternalName, ".")
		if name == "" {
			return append(errs, field.Required(path, ""))
		}
		errs = append(errs, resource.CheckValue(path, name, validation.IsDNS1123Subdomain)...)
	}
	return errs
}

func checkServicePorts(ports []corev1.ServicePort, path *field.Path) (errs field.ErrorList) {
	names := sets.New[string]()
	for n, port := range ports {
		at := path.Index(n)
		switch {
		case port.Name != "":
			errs = append(errs, resource.CheckValue(at.Child("name"), port.Name, validation.IsDNS1123Label)...)
			if names.Has(port.Name) {
				errs = append(errs, field.Duplicate(at.Child("name"), port.Name))
			}
			names.Insert(port.Name)
		case len(ports) > 1:
			errs = append(errs, field.Required(at.Child("name"), ""))
		}
		errs = append(errs, checkPortNumber(port.Port, at.Child("port"))...)
		errs = append(errs, checkProtocol(port.Protocol, at.Child("protocol"))...)
		errs = append(errs, checkPortNumberOrName(port.TargetPort, at.Child("targetPort"))...)
		if port.AppProtocol != nil {
			protocol := at.Child("appProtocol")
			errs = append(errs, resource.CheckValue(protocol, *port.AppProtocol, validation.IsQualifiedName)...)
		}
	}
	return errs
}

func checkAffinity(spec *corev1.ServiceSpec) (errs field.ErrorList) {
	if path := specPath.Child("sessionAffinity"); spec.SessionAffinity == "" {
		errs = append(errs, field.Required(path, ""))
	} else {
		errs = append(errs, resource.CheckSupported(path, spec.SessionAffinity,
			corev1.ServiceAffinityClientIP, corev1.ServiceAffinityNone)...)
	}
	config := spec.SessionAffinityConfig // which has a default
	if config == nil || config.ClientIP == nil || config.ClientIP.TimeoutSeconds == nil {
		return errs
	}
	path := specPath.Child("sessionAffinityConfig", "clientIP", "timeoutSeconds")
	if seconds := *config.ClientIP.TimeoutSeconds; seconds <= 0 || seconds > maxAffinityTimeout {
		message := fmt.Sprintf("must be greater than 0 and less than %d", maxAffinityTimeout)
		errs = append(errs, field.Invalid(path, seconds, message))
	}
	return errs
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
	if spec.Type == corev1.ServiceTypeClusterIP {
		for n, port := range spec.Ports {
			if port.NodePort != 0 {
				errs = append(errs,
					field.Forbidden(path.Index(n).Child("nodePort"), "may not be used when `type` is 'ClusterIP'"))
			}
		}
	}
	nodePorts, ports := sets.New[corev1.ServicePort](), sets.New[shownPort]()
	for n, port := range spec.Ports {
		key := corev1.ServicePort{Protocol: port.Protocol, NodePort: port.NodePort}
		if nodePorts.Has(key) && port.NodePort != 0 {
			errs = append(errs, field.Duplicate(path.Index(n).Child("nodePort"), port.NodePort))
		}
		nodePorts.Insert(key)
	}
	for n, port := range spec.Ports {
		key := shownPort{Protocol: port.Protocol, Port: port.Port}
		if ports.Has(key) {
			errs = append(errs, field.Duplicate(path.Index(n), key))
		}
		ports.Insert(key)
	}
	return errs
}

// checkSourceRanges returns the errors of the field for the clients of a load balancer, or of the annotation for them.
func checkSourceRanges(obj, old *corev1.Service) (errs field.ErrorList) {
	isBalancer := obj.Spec.Type == corev1.ServiceTypeLoadBalancer
	if ranges := obj.Spec.LoadBalancerSourceRanges; len(ranges) > 0 {
		path := specPath.Child("LoadBalancerSourceRanges")
		if !isBalancer {
			errs = append(errs, field.Forbidden(path, onlyForBalancers))
		}
		stored := trimmed(old.Spec.LoadBalancerSourceRanges)
		for n, cidr := range trimmed(ranges) {
			errs = append(errs, checkCIDRUnless(stored, cidr, path.Index(n))...)
		}
		return errs
	}
	value, found := obj.Annotations[corev1.AnnotationLoadBalancerSourceRangesKey]
	if !found {
		return nil
	}
	path := field.NewPath("metadata", "annotations").Key(corev1.AnnotationLoadBalancerSourceRangesKey)
	if !isBalancer {
		errs = append(errs, field.Forbidden(path, onlyForBalancers))
	}
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

func checkNodePortAllocation(spec *corev1.ServiceSpec) (errs field.ErrorList) {
	switch isBalancer := spec.Type == corev1.ServiceTypeLoadBalancer; {
	case !isBalancer && spec.AllocateLoadBalancerNodePorts != nil:
		return field.ErrorList{field.Forbidden(specPath.Child("allocateLoadBalancerNodePorts"), onlyForBalancers)}
	case isBalancer && spec.AllocateLoadBalancerNodePorts == nil:
		return field.ErrorList{field.Required(field.NewPath("allocateLoadBalancerNodePorts"), "")}
	}
	return nil
}

func checkBalancerClass(spec *corev1.ServiceSpec) field.ErrorList {
	path := specPath.Child("loadBalancerClass")
	switch {
	case spec.LoadBalancerClass == nil:
		return nil
	case spec.Type == corev1.ServiceTypeLoadBalancer:
		return resource.CheckValue(path, *spec.LoadBalancerClass, validation.IsQualifiedName)
	}
	return field.ErrorList{field.Forbidden(path, onlyForBalancers)}
}

func checkExternalTraffic(obj *corev1.Service) (errs field.ErrorList) {
	spec, policy := &obj.Spec, specPath.Child("externalTrafficPolicy")
	switch {
	case !ReachableFromOutside(obj):
		if spec.ExternalTrafficPolicy != "" {
			errs = append(errs, field.Invalid(policy, spec.ExternalTrafficPolicy,
				"may only be set for externally-accessible services"))
		}
	case spec.ExternalTrafficPolicy == "":
		errs = append(errs, field.Required(policy, ""))
	default:
		errs = append(errs, resource.CheckSupported(policy, spec.ExternalTrafficPolicy,
			corev1.ServiceExternalTrafficPolicyCluster, corev1.ServiceExternalTrafficPolicyLocal)...)
	}
	port := specPath.Child("healthCheckNodePort")
	switch {
	case !NeedsHealthCheck(obj):
		if spec.HealthCheckNodePort != 0 {
			errs = append(errs, field.Invalid(port, spec.HealthCheckNodePort,
				"may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"))
		}
	case spec.HealthCheckNodePort == 0:
		errs = append(errs, field.Required(port, ""))
	default:
		errs = append(errs, checkPortNumber(spec.HealthCheckNodePort, port)...)
	}
	return errs
}

// checkInternalTraffic returns the errors of the fields that choose an endpoint.
func checkInternalTraffic(spec *corev1.ServiceSpec) (errs field.ErrorList) {
	if policy := spec.InternalTrafficPolicy; policy != nil {
		errs = append(errs, resource.CheckSupported(specPath.Child("internalTrafficPolicy"), *policy,
			corev1.ServiceInternalTrafficPolicyCluster, corev1.ServiceInternalTrafficPolicyLocal)...)
	}
	if distribution := ptr.Deref(spec.TrafficDistribution, ""); spec.TrafficDistribution != nil {
		errs = append(errs, resource.CheckSupported(specPath.Child("trafficDistribution"), distribution,
			corev1.ServiceTrafficDistributionPreferClose, corev1.ServiceTrafficDistributionPreferSameZone,
			corev1.ServiceTrafficDistributionPreferSameNode)...)
	}
	return errs
}
