//lint:file-ignore SA1019 Endpoints are deprecated, and served

package network

import (
	"net"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/rules"
)

func endpointsDefinition() *resource.Definition {
	return &resource.Definition{
		Object: &corev1.Endpoints{}, ShortNames: []string{"ep"}, Namespaced: true, Folder: "services/endpoints",
		Deprecated: "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
		Default:    defaultEndpoints, Columns: endpointsColumns,
		Strategy: resource.Typed[*corev1.Endpoints]{
			Check:       func(obj *corev1.Endpoints) field.ErrorList { return checkEndpoints(obj, nil) },
			Warn:        endpointsWarnings,
			CheckUpdate: checkEndpointsUpdate,
			WarnUpdate:  func(obj, _ *corev1.Endpoints) []string { return endpointsWarnings(obj) },

			CreatesOnUpdate: true,
		},
	}
}

func defaultEndpoints(obj runtime.Object) {
	for _, subset := range obj.(*corev1.Endpoints).Subsets {
		for n := range subset.Ports {
			if port := &subset.Ports[n]; port.Protocol == "" {
				port.Protocol = corev1.ProtocolTCP
			}
		}
	}
}

func checkEndpointsUpdate(obj, old *corev1.Endpoints) field.ErrorList {
	errs := resource.CheckMetadataUpdate(&obj.ObjectMeta, &old.ObjectMeta)
	return append(errs, checkEndpoints(obj, old)...)
}

// checkEndpoints returns the errors of Endpoints. Subsets that were stored may stay as they are.
func checkEndpoints(obj, old *corev1.Endpoints) field.ErrorList {
	errs := resource.CheckMetadata(&obj.ObjectMeta, apivalidation.NameIsDNSSubdomain)
	subsets := rules.Each(obj.Subsets, field.NewPath("subsets"), checkSubset)
	if len(subsets) > 0 && old != nil && apiequality.Semantic.DeepEqual(obj.Subsets, old.Subsets) {
		return errs
	}
	return append(errs, subsets...)
}

func checkSubset(subset *corev1.EndpointSubset, path *field.Path) field.ErrorList {
	addresses, named := len(subset.Addresses)+len(subset.NotReadyAddresses), len(subset.Ports) > 1
	return slices.Concat(
		rules.When(addresses == 0, field.Required(path, "must specify `addresses` or `notReadyAddresses`")),
		rules.Each(subset.Addresses, path.Child("addresses"), checkEndpointAddress),
		rules.Each(subset.NotReadyAddresses, path.Child("notReadyAddresses"), checkEndpointAddress),
		rules.Each(subset.Ports, path.Child("ports"), func(port *corev1.EndpointPort, path *field.Path) field.ErrorList {
			return slices.Concat(
				checkPortName(port.Name, named, path.Child("name")),
				checkPort(port.Port, path.Child("port")),
				checkProtocol(port.Protocol, path.Child("protocol")),
				checkAppProtocol(port.AppProtocol, path),
			)
		}),
	)
}

func checkEndpointAddress(address *corev1.EndpointAddress, path *field.Path) field.ErrorList {
	return slices.Concat(
		validation.IsValidIP(path.Child("ip"), address.IP),
		rules.Name(address.Hostname, path.Child("hostname"), apivalidation.NameIsDNSLabel),
		checkNodeName(address.NodeName, path.Child("nodeName")),
		checkEndpointIP(address.IP, path.Child("ip")),
	)
}

// checkNodeName returns the errors of the name of a node, if there is one.
func checkNodeName(name *string, path *field.Path) field.ErrorList {
	if name == nil {
		return nil
	}
	return rules.Subdomain(*name, path)
}

// checkPortName returns the errors of the name of a port. One of several ports must have one.
func checkPortName(name string, required bool, path *field.Path) field.ErrorList {
	if name == "" {
		return rules.When(required, field.Required(path, ""))
	}
	return rules.Label(name, path)
}

// endpointsManager is the label of Endpoints that the controller of a cluster makes: they get no warnings.
const endpointsManager = "endpoints.kubernetes.io/managed-by"

func endpointsWarnings(obj *corev1.Endpoints) (warnings []string) {
	if obj.Labels[endpointsManager] == "endpoint-controller" {
		return nil
	}
	for n, subset := range obj.Subsets {
		at := field.NewPath("subsets").Index(n)
		for n, address := range subset.Addresses {
			path := at.Child("addresses").Index(n).Child("ip")
			warnings = append(warnings, validation.GetWarningsForIP(path, address.IP)...)
		}
		for n, address := range subset.NotReadyAddresses {
			path := at.Child("notReadyAddresses").Index(n).Child("ip")
			warnings = append(warnings, validation.GetWarningsForIP(path, address.IP)...)
		}
	}
	return warnings
}

var endpointsColumns = resource.Columns[*corev1.Endpoints]{
	{Name: "Endpoints", Field: "subsets", Cell: endpointsCell},
	{Name: "Age"},
}

// endpointsCell returns the first addresses of Endpoints with their ports.
func endpointsCell(endpoints *corev1.Endpoints) any {
	if len(endpoints.Subsets) == 0 {
		return none
	}
	var list []string
	for _, subset := range endpoints.Subsets {
		if len(subset.Ports) == 0 { // of a headless Service
			for _, address := range subset.Addresses {
				list = append(list, address.IP)
			}
		}
		for _, port := range subset.Ports {
			for _, address := range subset.Addresses {
				list = append(list, net.JoinHostPort(address.IP, strconv.Itoa(int(port.Port))))
			}
		}
	}
	return listWithMore(list)
}
