package network

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

func serviceDefinition() *resource.Definition {
	return &resource.Definition{
		GroupVersion: corev1.SchemeGroupVersion, Kind: "Service", Plural: "services", Singular: "service",
		ShortNames: []string{"svc"}, Categories: []string{"all"}, Namespaced: true, Folder: "services/specs",
		Object: &corev1.Service{}, List: &corev1.ServiceList{},
		Default: defaultService, Resets: status, Columns: serviceColumns, Fields: serviceFields,
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
			Name: "status", Verbs: resource.SubresourceVerbs, Resets: spec,
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

var serviceFields = &resource.Fields{
	Names: []string{"spec.clusterIP", "spec.type"},
	Values: func(obj runtime.Object) map[string]string {
		spec := &obj.(*corev1.Service).Spec
		return map[string]string{"spec.clusterIP": spec.ClusterIP, "spec.type": string(spec.Type)}
	},
	Error: func(name string) error { return fmt.Errorf("field label not supported: %s", name) },
}

var serviceColumns = &resource.Columns{Definitions: serviceColumnDefinitions(), Cells: serviceCells}

func serviceColumnDefinitions() []metav1.TableColumnDefinition {
	fields := corev1.ServiceSpec{}.SwaggerDoc()
	selector := resource.TextColumn("Selector", fields["selector"])
	selector.Priority = 1
	return []metav1.TableColumnDefinition{
		resource.NameColumn,
		resource.TextColumn("Type", fields["type"]),
		resource.TextColumn("Cluster-IP", fields["clusterIP"]),
		resource.TextColumn("External-IP", fields["externalIPs"]),
		resource.TextColumn("Port(s)", fields["ports"]),
		resource.AgeColumn,
		selector,
	}
}

func serviceCells(obj runtime.Object) []any {
	service := obj.(*corev1.Service)
	address := none
	if len(service.Spec.ClusterIPs) > 0 {
		address = service.Spec.ClusterIPs[0]
	}
	ports := make([]string, len(service.Spec.Ports))
	for n, port := range service.Spec.Ports {
		ports[n] = fmt.Sprintf("%d/%s", port.Port, port.Protocol)
		if port.NodePort > 0 {
			ports[n] = fmt.Sprintf("%d:%d/%s", port.Port, port.NodePort, port.Protocol)
		}
	}
	return []any{
		service.Name, string(service.Spec.Type), address, externalCell(service), orNone(strings.Join(ports, ",")),
		resource.Age(service), labels.FormatLabels(service.Spec.Selector),
	}
}

// externalCell returns the addresses of a Service outside of the cluster.
func externalCell(service *corev1.Service) string {
	switch service.Spec.Type {
	case corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort:
		return orNone(strings.Join(service.Spec.ExternalIPs, ","))
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
