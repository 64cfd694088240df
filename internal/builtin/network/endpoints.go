//lint:file-ignore SA1019 Endpoints are deprecated, and served

package network

import (
	"cmp"
	"net"
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
			Check:           func(obj *corev1.Endpoints) field.ErrorList { return checkEndpoints(obj, &corev1.Endpoints{}) },
			CheckUpdate:     checkEndpoints,
			CreatesOnUpdate: true,
		},
	}
}

func defaultEndpoints(obj runtime.Object) {
	for _, subset := range obj.(*corev1.Endpoints).Subsets {
		for n := range subset.Ports {
			subset.Ports[n].Protocol = cmp.Or(subset.Ports[n].Protocol, corev1.ProtocolTCP)
		}
	}
}

// checkEndpoints returns the errors of the addresses of Endpoints. Subsets that were stored may stay as they are.
func checkEndpoints(obj, old *corev1.Endpoints) field.ErrorList {
	errs := resource.CheckMetadata(obj, apivalidation.NameIsDNSSubdomain)
	if apiequality.Semantic.DeepEqual(obj.Subsets, old.Subsets) {
		return errs
	}
	check := func(address *corev1.EndpointAddress, path *field.Path) field.ErrorList {
		at := path.Child("ip")
		return append(validation.IsValidIP(at, address.IP), checkEndpointIP(address.IP, at)...)
	}
	for n, subset := range obj.Subsets {
		path := field.NewPath("subsets").Index(n)
		errs = append(errs, rules.Each(subset.Addresses, path.Child("addresses"), check)...)
		errs = append(errs, rules.Each(subset.NotReadyAddresses, path.Child("notReadyAddresses"), check)...)
	}
	return errs
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
