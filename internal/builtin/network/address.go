package network

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"github.com/crd-server/crd-server/internal/builtin/rules"
)

// checkPort returns the errors of the number of a port.
func checkPort(port int32, path *field.Path) field.ErrorList {
	return rules.Messages(path, port, validation.IsValidPortNum(int(port)))
}

// checkEndpointIP returns the errors of an address that others connect to.
func checkEndpointIP(address string, path *field.Path) field.ErrorList {
	ip := netutils.ParseIPSloppy(address)
	if ip == nil {
		return field.ErrorList{field.Invalid(path, address, "must be a valid IP address")}
	}
	refuse := func(is bool, message string) field.ErrorList {
		return rules.When(is, field.Invalid(path, address, message))
	}
	return slices.Concat(
		refuse(ip.IsUnspecified(), fmt.Sprintf("may not be unspecified (%v)", address)),
		refuse(ip.IsLoopback(), "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
		refuse(ip.IsLinkLocalUnicast(), "may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
		refuse(ip.IsLinkLocalMulticast(), "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"),
	)
}

// refuseIP returns the error of a name that is an address.
func refuseIP(name string, path *field.Path) field.ErrorList {
	return rules.When(netutils.ParseIPSloppy(name) != nil,
		field.Invalid(path, name, "must be a DNS name, not an IP address"))
}

// checkNew returns the errors of an address or a range of addresses, unless it was stored before: old objects may have
// been checked by other rules.
func checkNew(
	value string, stored []string, path *field.Path, check func(*field.Path, string) field.ErrorList,
) field.ErrorList {
	if slices.Contains(stored, value) {
		return nil
	}
	return check(path, value)
}

// warnEach returns the warnings about all values of a list.
func warnEach(values []string, path *field.Path, warn func(*field.Path, string) []string) (warnings []string) {
	for n, value := range values {
		warnings = append(warnings, warn(path.Index(n), value)...)
	}
	return warnings
}

var balancerPath = field.NewPath("status", "loadBalancer", "ingress")

// checkPoints returns the errors of the addresses of a load balancer. checkMode checks their modes.
func checkPoints(
	points, old []corev1.LoadBalancerIngress,
	checkMode func(point *corev1.LoadBalancerIngress, path *field.Path) field.ErrorList,
) field.ErrorList {
	var stored []string
	for _, point := range old {
		stored = append(stored, point.IP)
	}
	return rules.Each(points, balancerPath, func(p *corev1.LoadBalancerIngress, path *field.Path) (errs field.ErrorList) {
		if p.IP != "" {
			errs = checkNew(p.IP, stored, path.Child("ip"), validation.IsValidIP)
		}
		errs = append(errs, checkMode(p, path.Child("ipMode"))...)
		if at := path.Child("hostname"); p.Hostname != "" {
			errs = append(errs, slices.Concat(rules.Subdomain(p.Hostname, at), refuseIP(p.Hostname, at))...)
		}
		return errs
	})
}

// pointWarnings returns the warnings about the addresses of a load balancer.
func pointWarnings(points []corev1.LoadBalancerIngress) (warnings []string) {
	for n, point := range points {
		if point.IP != "" {
			warnings = append(warnings, validation.GetWarningsForIP(balancerPath.Index(n), point.IP)...)
		}
	}
	return warnings
}
