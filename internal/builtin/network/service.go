package network

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

func serviceDefinition() *resource.Definition {
	return &resource.Definition{
		Object: &corev1.Service{}, ShortNames: []string{"svc"}, Categories: []string{"all"}, Namespaced: true,
		Folder:  "services/specs",
		Default: defaultService, Columns: serviceColumns,
		Fields:         &resource.Fields{Values: resource.Paths(&corev1.Service{}, "spec.clusterIP", "spec.type")},
		ReturnsDeleted: true,
		Strategy: resource.Typed[*corev1.Service]{
			Prepare:       prepareService,
			Check:         checkServiceCreate,
			Warn:          serviceWarnings,
			PrepareUpdate: prepareServiceUpdate,
			CheckUpdate:   checkServiceUpdate,
			WarnUpdate:    func(obj, _ *corev1.Service) []string { return serviceWarnings(obj) },

			CreatesOnUpdate: true,
		},
		Subresources: []resource.Subresource{resource.NewProxy(&corev1.ServiceProxyOptions{}), {
			Name: "status",
			Strategy: resource.Typed[*corev1.Service]{
				PrepareUpdate: resource.KeepSpec[*corev1.Service],
				CheckUpdate:   checkServiceStatus,
				WarnUpdate: func(obj, _ *corev1.Service) []string {
					return pointWarnings(obj.Status.LoadBalancer.Ingress)
				},
			},
		}},
	}
}

func defaultService(obj runtime.Object) {
	service := obj.(*corev1.Service)
	spec := &service.Spec
	defaultAffinity(spec)
	spec.Type = cmp.Or(spec.Type, corev1.ServiceTypeClusterIP)
	for n := range spec.Ports {
		port := &spec.Ports[n]
		port.Protocol = cmp.Or(port.Protocol, corev1.ProtocolTCP)
		if port.TargetPort == intstr.FromInt32(0) || port.TargetPort == intstr.FromString("") {
			port.TargetPort = intstr.FromInt32(port.Port)
		}
	}
	if ReachableFromOutside(service) && spec.ExternalTrafficPolicy == "" {
		spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyCluster
	}
	if NeedsClusterIP(service) {
		resource.Default(&spec.InternalTrafficPolicy, corev1.ServiceInternalTrafficPolicyCluster)
	}
	if !isBalancer(spec) {
		return
	}
	resource.Default(&spec.AllocateLoadBalancerNodePorts, true)
	for n := range service.Status.LoadBalancer.Ingress {
		if point := &service.Status.LoadBalancer.Ingress[n]; point.IP != "" && point.IPMode == nil {
			point.IPMode = new(corev1.LoadBalancerIPModeVIP)
		}
	}
}

func defaultAffinity(spec *corev1.ServiceSpec) {
	spec.SessionAffinity = cmp.Or(spec.SessionAffinity, corev1.ServiceAffinityNone)
	switch spec.SessionAffinity {
	case corev1.ServiceAffinityNone:
		spec.SessionAffinityConfig = nil
	case corev1.ServiceAffinityClientIP:
		resource.Default(&spec.SessionAffinityConfig, corev1.SessionAffinityConfig{})
		resource.Default(&spec.SessionAffinityConfig.ClientIP, corev1.ClientIPConfig{})
		resource.Default(&spec.SessionAffinityConfig.ClientIP.TimeoutSeconds, corev1.DefaultClientIPServiceAffinitySeconds)
	}
}

// ReachableFromOutside reports whether clients outside of the cluster may reach a Service.
func ReachableFromOutside(service *corev1.Service) bool {
	switch service.Spec.Type {
	case corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort:
		return true
	case corev1.ServiceTypeClusterIP:
		return len(service.Spec.ExternalIPs) > 0
	}
	return false
}

// NeedsHealthCheck reports whether a Service has a node port for health checks.
func NeedsHealthCheck(service *corev1.Service) bool {
	return isBalancer(&service.Spec) &&
		service.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
}

// NeedsClusterIP reports whether a Service has an address in the cluster, or says that it has none.
func NeedsClusterIP(service *corev1.Service) bool {
	return service.Spec.Type != corev1.ServiceTypeExternalName
}

// NeedsNodePorts reports whether the ports of a Service have node ports.
func NeedsNodePorts(service *corev1.Service) bool {
	switch service.Spec.Type {
	case corev1.ServiceTypeNodePort:
		return true
	case corev1.ServiceTypeLoadBalancer:
		return ptr.Deref(service.Spec.AllocateLoadBalancerNodePorts, true)
	}
	return false
}

// IsHeadless reports whether a Service says that it has no address in the cluster.
func IsHeadless(service *corev1.Service) bool {
	return len(service.Spec.ClusterIPs) == 1 && service.Spec.ClusterIPs[0] == corev1.ClusterIPNone
}

var serviceColumns = resource.Columns[*corev1.Service]{
	{Name: "Type", Field: "spec.type"},
	{Name: "Cluster-IP", Field: "spec.clusterIP", Cell: func(service *corev1.Service) any {
		if len(service.Spec.ClusterIPs) == 0 {
			return none
		}
		return service.Spec.ClusterIPs[0]
	}},
	{Name: "External-IP", Field: "spec.externalIPs", Cell: externalCell},
	{Name: "Port(s)", Field: "spec.ports", Cell: portsCell},
	{Name: "Age"},
	{Name: "Selector", Wide: true, Field: "spec.selector"},
}

func portsCell(service *corev1.Service) any {
	ports := make([]string, len(service.Spec.Ports))
	for n, port := range service.Spec.Ports {
		ports[n] = fmt.Sprintf("%d/%s", port.Port, port.Protocol)
		if port.NodePort > 0 {
			ports[n] = fmt.Sprintf("%d:%d/%s", port.Port, port.NodePort, port.Protocol)
		}
	}
	return cmp.Or(strings.Join(ports, ","), none)
}

// externalCell returns the addresses of a Service outside of the cluster.
func externalCell(service *corev1.Service) any {
	switch service.Spec.Type {
	case corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort:
		return cmp.Or(strings.Join(service.Spec.ExternalIPs, ","), none)
	case corev1.ServiceTypeExternalName:
		return service.Spec.ExternalName
	case corev1.ServiceTypeLoadBalancer:
		points := sets.New[string]()
		for _, point := range service.Status.LoadBalancer.Ingress {
			points.Insert(balancerAddress(point.IP, point.Hostname)...)
		}
		if all := append(sets.List(points), service.Spec.ExternalIPs...); len(all) > 0 {
			return strings.Join(all, ",")
		}
		return "<pending>"
	}
	return "<unknown>"
}
