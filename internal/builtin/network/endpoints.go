//lint:file-ignore SA1019 Endpoints are deprecated, and served

package network

import (
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

func endpointsDefinition() *resource.Definition {
	return &resource.Definition{
		GroupVersion: corev1.SchemeGroupVersion, Kind: "Endpoints", Plural: "endpoints", Singular: "endpoints",
		ShortNames: []string{"ep"}, Namespaced: true, Folder: "services/endpoints",
		Object: &corev1.Endpoints{}, List: &corev1.EndpointsList{},
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
	subsets := checkSubsets(obj.Subsets, field.NewPath("subsets"))
	if len(subsets) > 0 && old != nil && apiequality.Semantic.DeepEqual(obj.Subsets, old.Subsets) {
		return errs
	}
	return append(errs, subsets...)
}

func checkSubsets(subsets []corev1.EndpointSubset, path *field.Path) (errs field.ErrorList) {
	for n, subset := range subsets {
		at := path.Index(n)
		if len(subset.Addresses) == 0 && len(subset.NotReadyAddresses) == 0 {
			errs = append(errs, field.Required(at, "must specify `addresses` or `notReadyAddresses`"))
		}
		errs = append(errs, checkEndpointAddresses(subset.Addresses, at.Child("addresses"))...)
		errs = append(errs, checkEndpointAddresses(subset.NotReadyAddresses, at.Child("notReadyAddresses"))...)
		for n := range subset.Ports {
			errs = append(errs, checkEndpointPort(&subset.Ports[n], len(subset.Ports) > 1, at.Child("ports").Index(n))...)
		}
	}
	return errs
}

func checkEndpointAddresses(addresses []corev1.EndpointAddress, path *field.Path) (errs field.ErrorList) {
	for n, address := range addresses {
		at := path.Index(n)
		errs = append(errs, validation.IsValidIP(at.Child("ip"), address.IP)...)
		if address.Hostname != "" {
			errs = append(errs, resource.CheckValue(at.Child("hostname"), address.Hostname, validation.IsDNS1123Label)...)
		}
		if name := address.NodeName; name != nil {
			errs = append(errs, resource.CheckValue(at.Child("nodeName"), *name, validation.IsDNS1123Subdomain)...)
		}
		errs = append(errs, checkEndpointIP(address.IP, at.Child("ip"))...)
	}
	return errs
}

func checkEndpointPort(port *corev1.EndpointPort, named bool, path *field.Path) (errs field.ErrorList) {
	switch {
	case port.Name != "":
		errs = append(errs, resource.CheckValue(path.Child("name"), port.Name, validation.IsDNS1123Label)...)
	case named:
		errs = append(errs, field.Required(path.Child("name"), ""))
	}
	errs = append(errs, checkPortNumber(port.Port, path.Child("port"))...)
	errs = append(errs, checkProtocol(port.Protocol, path.Child("protocol"))...)
	if port.AppProtocol != nil {
		protocol := path.Child("appProtocol")
		errs = append(errs, resource.CheckValue(protocol, *port.AppProtocol, validation.IsQualifiedName)...)
	}
	return errs
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

var endpointsColumns = &resource.Columns{
	Definitions: []metav1.TableColumnDefinition{
		resource.NameColumn, resource.TextColumn("Endpoints", corev1.Endpoints{}.SwaggerDoc()["subsets"]), resource.AgeColumn,
	},
	Cells: func(obj runtime.Object) []any {
		endpoints := obj.(*corev1.Endpoints)
		return []any{endpoints.Name, endpointsCell(endpoints), resource.Age(endpoints)}
	},
}

// endpointsCell returns the first addresses of Endpoints with their ports.
func endpointsCell(endpoints *corev1.Endpoints) string {
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
