package network

import (
	"cmp"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/rules"
)

func endpointSliceDefinition() *resource.Definition {
	return &resource.Definition{
		Object: &discoveryv1.EndpointSlice{}, Namespaced: true,
		Default: defaultEndpointSlice, Columns: endpointSliceColumns, Upgrade: upgradeEndpointSlice,
		Strategy: endpointSliceRules(),
	}
}

func defaultEndpointSlice(obj runtime.Object) {
	slice := obj.(*discoveryv1.EndpointSlice)
	for n := range slice.Ports {
		resource.Default(&slice.Ports[n].Name, "")
		resource.Default(&slice.Ports[n].Protocol, corev1.ProtocolTCP)
	}
}

func endpointSliceRules() resource.Strategy {
	rules := resource.Plain[*discoveryv1.EndpointSlice]{
		Declared: []string{"addressType"}, CheckUpdate: checkEndpointSlice,
		Check: func(obj *discoveryv1.EndpointSlice) field.ErrorList {
			return checkEndpointSlice(obj, &discoveryv1.EndpointSlice{})
		},
	}.Rules()
	rules.Prepare = func(obj *discoveryv1.EndpointSlice) {
		obj.Generation = 1
		dropTopology(obj)
	}
	rules.PrepareUpdate = prepareEndpointSliceUpdate
	return rules
}

// dropTopology clears the field that only an old version had.
func dropTopology(obj *discoveryv1.EndpointSlice) {
	for n := range obj.Endpoints {
		obj.Endpoints[n].DeprecatedTopology = nil
	}
}

// prepareEndpointSliceUpdate counts changes of everything but the metadata, and of the labels.
func prepareEndpointSliceUpdate(obj, old *discoveryv1.EndpointSlice) {
	after, before := *obj, *old
	after.ObjectMeta, before.ObjectMeta = metav1.ObjectMeta{Labels: obj.Labels}, metav1.ObjectMeta{Labels: old.Labels}
	if !apiequality.Semantic.DeepEqual(after, before) {
		obj.Generation = old.Generation + 1
	}
	if !apiequality.Semantic.DeepEqual(obj.Endpoints, old.Endpoints) {
		dropTopology(obj)
	}
}

// checkEndpointSlice returns the errors of the addresses of an EndpointSlice and of their type. Endpoints that were
// stored may stay.
func checkEndpointSlice(obj, old *discoveryv1.EndpointSlice) (errs field.ErrorList) {
	at, fqdn := field.NewPath("addressType"), discoveryv1.AddressTypeFQDN
	errs = append(rules.When(obj.AddressType == "", resource.Missing(at)), rules.Known(
		cmp.Or(obj.AddressType, fqdn), at, fqdn, discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6)...)
	if obj.AddressType == fqdn || apiequality.Semantic.DeepEqual(obj.Endpoints, old.Endpoints) {
		return errs
	}
	for n, endpoint := range obj.Endpoints {
		path := field.NewPath("endpoints").Index(n).Child("addresses")
		for m, address := range endpoint.Addresses {
			wrong := validation.IsValidIP(path.Index(m), address)
			if len(wrong) == 0 {
				wrong = append(checkFamily(address, obj.AddressType, path), checkEndpointIP(address, path.Index(m))...)
			}
			errs = append(errs, wrong...)
		}
	}
	return errs
}

func checkFamily(address string, family discoveryv1.AddressType, path *field.Path) field.ErrorList {
	return append(
		rules.When(family == discoveryv1.AddressTypeIPv4 && !netutils.IsIPv4String(address),
			field.Invalid(path, address, "must be an IPv4 address")),
		rules.When(family == discoveryv1.AddressTypeIPv6 && !netutils.IsIPv6String(address),
			field.Invalid(path, address, "must be an IPv6 address"))...)
}

var endpointSliceColumns = resource.Columns[*discoveryv1.EndpointSlice]{
	{Name: "AddressType", Field: "addressType"},
	{Name: "Ports", Field: "ports", Cell: func(slice *discoveryv1.EndpointSlice) any {
		var ports []string
		for _, port := range slice.Ports {
			ports = append(ports, slicePortCell(&port))
		}
		return cmp.Or(listWithMore(ports), "<unset>")
	}},
	{Name: "Endpoints", Field: "endpoints", Cell: func(slice *discoveryv1.EndpointSlice) any {
		var addresses []string
		for _, endpoint := range slice.Endpoints {
			addresses = append(addresses, endpoint.Addresses...)
		}
		return cmp.Or(listWithMore(addresses), "<unset>")
	}},
	{Name: "Age"},
}

func slicePortCell(port *discoveryv1.EndpointPort) string {
	switch {
	case port.Port != nil:
		return strconv.Itoa(int(*port.Port))
	case port.Name != nil:
		return *port.Name
	}
	return "*"
}
