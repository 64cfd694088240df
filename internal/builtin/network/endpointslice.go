package network

import (
	"cmp"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/rules"
)

// Limits of an EndpointSlice.
const (
	maxEndpoints = 1000
	maxPorts     = 20000
	maxAddresses = 100
	maxHints     = 8
)

func endpointSliceDefinition() *resource.Definition {
	return &resource.Definition{
		Object: &discoveryv1.EndpointSlice{}, Namespaced: true,
		Default: defaultEndpointSlice, Columns: endpointSliceColumns, Upgrade: upgradeEndpointSlice,
		Strategy: resource.Typed[*discoveryv1.EndpointSlice]{
			Prepare: func(obj *discoveryv1.EndpointSlice) {
				obj.Generation = 1
				dropTopology(obj)
			},
			Check:         func(obj *discoveryv1.EndpointSlice) field.ErrorList { return checkEndpointSlice(obj, nil) },
			Warn:          warnAboutEndpointSlice,
			PrepareUpdate: prepareEndpointSliceUpdate,
			CheckUpdate: func(obj, old *discoveryv1.EndpointSlice) field.ErrorList {
				errs := resource.CheckConstant(field.NewPath("addressType"), obj.AddressType, old.AddressType)
				return append(errs, checkEndpointSlice(obj, old)...)
			},
			WarnUpdate: func(obj, _ *discoveryv1.EndpointSlice) []string { return endpointSliceWarnings(obj) },
		},
	}
}

func defaultEndpointSlice(obj runtime.Object) {
	slice := obj.(*discoveryv1.EndpointSlice)
	for n := range slice.Ports {
		port := &slice.Ports[n]
		if port.Name == nil {
			port.Name = new("")
		}
		if port.Protocol == nil {
			port.Protocol = new(corev1.ProtocolTCP)
		}
	}
}

// dropTopology clears the field that only an old version had.
func dropTopology(obj *discoveryv1.EndpointSlice) {
	for n := range obj.Endpoints {
		obj.Endpoints[n].DeprecatedTopology = nil
	}
}

func prepareEndpointSliceUpdate(obj, old *discoveryv1.EndpointSlice) {
	after, before := *obj, *old
	after.ObjectMeta, before.ObjectMeta = metav1.ObjectMeta{}, metav1.ObjectMeta{}
	if !apiequality.Semantic.DeepEqual(after, before) || !apiequality.Semantic.DeepEqual(obj.Labels, old.Labels) {
		obj.Generation = old.Generation + 1
	}
	if !apiequality.Semantic.DeepEqual(obj.Endpoints, old.Endpoints) {
		dropTopology(obj)
	}
}

// checkEndpointSlice returns the errors of an EndpointSlice. Endpoints that were stored may stay as they are.
func checkEndpointSlice(obj, old *discoveryv1.EndpointSlice) field.ErrorList {
	errs := resource.CheckMetadata(&obj.ObjectMeta, apivalidation.NameIsDNSSubdomain)
	if path := field.NewPath("addressType"); obj.AddressType == "" {
		errs = append(errs, resource.Missing(path))
	} else {
		errs = append(errs, rules.Known(obj.AddressType, path,
			discoveryv1.AddressTypeFQDN, discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6)...)
	}
	errs = append(errs, checkSlicePorts(obj.Ports, field.NewPath("ports"))...)
	endpoints := checkSliceEndpoints(obj, field.NewPath("endpoints"))
	if len(endpoints) > 0 && old != nil && apiequality.Semantic.DeepEqual(obj.Endpoints, old.Endpoints) {
		return errs
	}
	return append(errs, endpoints...)
}

func checkSlicePorts(ports []discoveryv1.EndpointPort, path *field.Path) field.ErrorList {
	if len(ports) > maxPorts {
		return field.ErrorList{field.TooMany(path, len(ports), maxPorts)}
	}
	names := sets.New[string]()
	return rules.Each(ports, path, func(port *discoveryv1.EndpointPort, path *field.Path) field.ErrorList {
		name := ptr.Deref(port.Name, "")
		isDouble := names.Has(name)
		names.Insert(name)
		return slices.Concat(
			checkPortName(name, false, path.Child("name")),
			rules.When(isDouble, field.Duplicate(path.Child("name"), port.Name)),
			checkProtocol(ptr.Deref(port.Protocol, ""), path.Child("protocol")),
			checkAppProtocol(port.AppProtocol, path),
		)
	})
}

func checkSliceEndpoints(obj *discoveryv1.EndpointSlice, path *field.Path) field.ErrorList {
	if count := len(obj.Endpoints); count > maxEndpoints {
		return field.ErrorList{field.TooMany(path, count, maxEndpoints)}
	}
	return rules.Each(obj.Endpoints, path, func(endpoint *discoveryv1.Endpoint, path *field.Path) field.ErrorList {
		return slices.Concat(
			checkAddresses(endpoint.Addresses, obj.AddressType, path.Child("addresses")),
			checkNodeName(endpoint.NodeName, path.Child("nodeName")),
			checkHints(endpoint, path),
		)
	})
}

func checkAddresses(addresses []string, kind discoveryv1.AddressType, path *field.Path) (errs field.ErrorList) {
	if len(addresses) == 0 {
		errs = append(errs, resource.Missing(path))
	} else if len(addresses) > maxAddresses {
		errs = append(errs, field.TooMany(path, len(addresses), maxAddresses).MarkCoveredByDeclarative())
	}
	for n, address := range addresses {
		at := path.Index(n)
		if kind == discoveryv1.AddressTypeFQDN {
			errs = append(errs, validation.IsFullyQualifiedDomainName(at, address)...)
			continue
		}
		if wrong := validation.IsValidIP(at, address); len(wrong) > 0 {
			errs = append(errs, wrong...)
			continue
		}
		switch {
		case kind == discoveryv1.AddressTypeIPv4 && !netutils.IsIPv4String(address):
			errs = append(errs, field.Invalid(path, address, "must be an IPv4 address"))
		case kind == discoveryv1.AddressTypeIPv6 && !netutils.IsIPv6String(address):
			errs = append(errs, field.Invalid(path, address, "must be an IPv6 address"))
		}
		errs = append(errs, checkEndpointIP(address, at)...)
	}
	return errs
}

// checkHints returns the errors of the host name of an endpoint, and of the zones and nodes that it is for.
func checkHints(endpoint *discoveryv1.Endpoint, path *field.Path) (errs field.ErrorList) {
	if endpoint.Hostname != nil {
		errs = rules.Label(*endpoint.Hostname, path.Child("hostname"))
	}
	if endpoint.Hints == nil {
		return errs
	}
	var zones, nodes []string
	for _, zone := range endpoint.Hints.ForZones {
		zones = append(zones, zone.Name)
	}
	for _, node := range endpoint.Hints.ForNodes {
		nodes = append(nodes, node.Name)
	}
	path = path.Child("hints")
	errs = append(errs, checkHintNames(zones, path.Child("forZones"), validation.IsValidLabelValue)...)
	return append(errs, checkHintNames(nodes, path.Child("forNodes"), validation.IsDNS1123Subdomain)...)
}

func checkHintNames(names []string, path *field.Path, check func(name string) []string) (errs field.ErrorList) {
	if len(names) > maxHints {
		return field.ErrorList{field.TooMany(path, len(names), maxHints)}
	}
	seen := sets.New[string]()
	for n, name := range names {
		at := path.Index(n).Child("name")
		if seen.Has(name) {
			errs = append(errs, field.Duplicate(at, name))
		}
		seen.Insert(name)
		errs = append(errs, rules.Messages(at, name, check(name))...)
	}
	return errs
}

func warnAboutEndpointSlice(obj *discoveryv1.EndpointSlice) (warnings []string) {
	if obj.AddressType == discoveryv1.AddressTypeFQDN {
		warnings = append(warnings, "spec.addressType: FQDN endpoints are deprecated")
	}
	return append(warnings, endpointSliceWarnings(obj)...)
}

func endpointSliceWarnings(obj *discoveryv1.EndpointSlice) (warnings []string) {
	switch obj.Labels[discoveryv1.LabelManagedBy] {
	case "endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io":
		return nil
	}
	for n, endpoint := range obj.Endpoints {
		path := field.NewPath("endpoints").Index(n).Child("addresses")
		for n, address := range endpoint.Addresses {
			warnings = append(warnings, validation.GetWarningsForIP(path.Index(n), address)...)
		}
	}
	return warnings
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
