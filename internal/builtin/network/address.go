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

// checkProtocol returns the errors of the protocol of a port.
func checkProtocol(protocol corev1.Protocol, path *field.Path) field.ErrorList {
	return rules.OneOf(protocol, path, corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP)
}

// checkAppProtocol returns the errors of the protocol that an application speaks at a port.
func checkAppProtocol(protocol *string, path *field.Path) field.ErrorList {
	if protocol == nil {
		return nil
	}
	return rules.QualifiedName(*protocol, path.Child("appProtocol"))
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

// checkHostname returns the errors of the host name of a load balancer.
func checkHostname(name string, path *field.Path) field.ErrorList {
	return append(rules.Subdomain(name, path), refuseIP(name, path)...)
}

// refuseIP returns the error of a name that is an address.
func refuseIP(name string, path *field.Path) field.ErrorList {
	return rules.When(netutils.ParseIPSloppy(name) != nil,
		field.Invalid(path, name, "must be a DNS name, not an IP address"))
}

// checkIPUnless returns the errors of an address, unless it was stored before: old objects may have been checked by
// other rules.
func checkIPUnless(stored []string, ip string, path *field.Path) field.ErrorList {
	if slices.Contains(stored, ip) {
		return nil
	}
	return validation.IsValidIP(path, ip)
}

// checkCIDRUnless is checkIPUnless for a range of addresses.
func checkCIDRUnless(stored []string, cidr string, path *field.Path) field.ErrorList {
	if slices.Contains(stored, cidr) {
		return nil
	}
	return validation.IsValidCIDR(path, cidr)
}

// point is an address of a load balancer.
type point struct{ ip, hostname string }

// checkPoint returns the errors of an address of a load balancer.
func checkPoint(p point, stored []string, path *field.Path) (errs field.ErrorList) {
	if p.ip != "" {
		errs = checkIPUnless(stored, p.ip, path.Child("ip"))
	}
	if p.hostname != "" {
		errs = append(errs, checkHostname(p.hostname, path.Child("hostname"))...)
	}
	return errs
}
