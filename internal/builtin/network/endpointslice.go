package network

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// Limits of an EndpointSlice.
const (
	maxEndpoints     = 1000
	maxPorts         = 20000
	maxAddresses     = 100
	maxHints         = 8
	maxTopologyParts = 16
)

func endpointSliceDefinition() *resource.Definition {
	return &resource.Definition{
		GroupVersion: discoveryv1.SchemeGroupVersion, Kind: "EndpointSlice", Plural: "endpointslices",
		Singular: "endpointslice", Namespaced: true,
		Object: &discoveryv1.EndpointSlice{}, List: &discoveryv1.EndpointSliceList{},
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
		errs = append(errs, resource.CheckSupported(path, obj.AddressType,
			discoveryv1.AddressTypeFQDN, discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6)...)
	}
	errs = append(errs, checkSlicePorts(obj.Ports, field.NewPath("ports"))...)
	endpoints := checkSliceEndpoints(obj, field.NewPath("endpoints"))
	if len(endpoints) > 0 && old != nil && apiequality.Semantic.DeepEqual(obj.Endpoints, old.Endpoints) {
		return errs
	}
	return append(errs, endpoints...)
}

func checkSlicePorts(ports []discoveryv1.EndpointPort, path *field.Path) (errs field.ErrorList) {
	if len(ports) > maxPorts {
		return field.ErrorList{field.TooMany(path, len(ports), maxPorts)}
	}
	names := sets.New[string]()
	for n, port := range ports {
		at, name := path.Index(n), ptr.Deref(port.Name, "")
		if name != "" {
			errs = append(errs, resource.CheckValue(at.Child("name"), name, validation.IsDNS1123Label)...)
		}
		if names.Has(name) {
			errs = append(errs, field.Duplicate(at.Child("name"), port.Name))
		}
		names.Insert(name)
		errs = append(errs, checkProtocol(ptr.Deref(port.Protocol, ""), at.Child("protocol"))...)
		if port.AppProtocol != nil {
			protocol := at.Child("appProtocol")
			errs = append(errs, resource.CheckValue(protocol, *port.AppProtocol, validation.IsQualifiedName)...)
		}
	}
	return errs
}

func checkSliceEndpoints(obj *discoveryv1.EndpointSlice, path *field.Path) (errs field.ErrorList) {
	if count := len(obj.Endpoints); count > maxEndpoints {
		return field.ErrorList{field.TooMany(path, count, maxEndpoints)}
	}
	for n, endpoint := range obj.Endpoints {
		at := path.Index(n)
		errs = append(errs, checkAddresses(endpoint.Addresses, obj.AddressType, at.Child("addresses"))...)
		if name := endpoint.NodeName; name != nil {
			errs = append(errs, resource.CheckValue(at.Child("nodeName"), *name, validation.IsDNS1123Subdomain)...)
		}
		topology := at.Child("deprecatedTopology")
		if count := len(endpoint.DeprecatedTopology); count > maxTopologyParts {
			errs = append(errs, field.TooMany(topology, count, maxTopologyParts))
		}
		errs = append(errs, metavalidation.ValidateLabels(endpoint.DeprecatedTopology, topology)...)
		if endpoint.Hostname != nil {
			errs = append(errs, resource.CheckValue(at.Child("hostname"), *endpoint.Hostname, validation.IsDNS1123Label)...)
		}
		if endpoint.Hints != nil {
			errs = append(errs, checkHints(endpoint.Hints, at.Child("hints"))...)
		}
	}
	return errs
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

func checkHints(hints *discoveryv1.EndpointHints, path *field.Path) (errs field.ErrorList) {
	zones, nodes := make([]string, len(hints.ForZones)), make([]string, len(hints.ForNodes))
	for n, zone := range hints.ForZones {
		zones[n] = zone.Name
	}
	for n, node := range hints.ForNodes {
		nodes[n] = node.Name
	}
	errs = checkHintNames(zones, path.Child("forZones"), validation.IsValidLabelValue)
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
		errs = append(errs, resource.CheckValue(at, name, check)...)
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

var endpointSliceColumns = &resource.Columns{
	Definitions: []metav1.TableColumnDefinition{
		resource.NameColumn,
		resource.TextColumn("AddressType", discoveryv1.EndpointSlice{}.SwaggerDoc()["addressType"]),
		resource.TextColumn("Ports", discoveryv1.EndpointSlice{}.SwaggerDoc()["ports"]),
		resource.TextColumn("Endpoints", discoveryv1.EndpointSlice{}.SwaggerDoc()["endpoints"]),
		resource.AgeColumn,
	},
	Cells: func(obj runtime.Object) []any {
		slice := obj.(*discoveryv1.EndpointSlice)
		var ports, addresses []string
		for _, port := range slice.Ports {
			ports = append(ports, slicePortCell(&port))
		}
		for _, endpoint := range slice.Endpoints {
			addresses = append(addresses, endpoint.Addresses...)
		}
		return []any{slice.Name, string(slice.AddressType), orUnset(ports), orUnset(addresses), resource.Age(slice)}
	},
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

func orUnset(values []string) string {
	if list := listWithMore(values); list != "" {
		return list
	}
	return "<unset>"
}
