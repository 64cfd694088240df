package network

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// checkPortNumber returns the errors of a port.
func checkPortNumber(port int32, path *field.Path) (errs field.ErrorList) {
	for _, message := range validation.IsValidPortNum(int(port)) {
		errs = append(errs, field.Invalid(path, port, message))
	}
	return errs
}

// checkPortNumberOrName returns the errors of a port that may be the name of one.
func checkPortNumberOrName(port intstr.IntOrString, path *field.Path) field.ErrorList {
	if port.Type == intstr.String {
		return resource.CheckValue(path, port.StrVal, validation.IsValidPortName)
	}
	return checkPortNumber(port.IntVal, path)
}

// checkProtocol returns the errors of the protocol of a port.
func checkProtocol(protocol corev1.Protocol, path *field.Path) field.ErrorList {
	if protocol == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return resource.CheckSupported(path, protocol, corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP)
}

// checkEndpointIP returns the errors of an address that others connect to.
func checkEndpointIP(address string, path *field.Path) (errs field.ErrorList) {
	ip := netutils.ParseIPSloppy(address)
	if ip == nil {
		return field.ErrorList{field.Invalid(path, address, "must be a valid IP address")}
	}
	refuse := func(is bool, message string) {
		if is {
			errs = append(errs, field.Invalid(path, address, message))
		}
	}
	refuse(ip.IsUnspecified(), fmt.Sprintf("may not be unspecified (%v)", address))
	refuse(ip.IsLoopback(), "may not be in the loopback range (127.0.0.0/8, ::1/128)")
	refuse(ip.IsLinkLocalUnicast(), "may not be in the link-local range (169.254.0.0/16, fe80::/10)")
	refuse(ip.IsLinkLocalMulticast(), "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")
	return errs
}

// checkHostname returns the errors of the host name of a load balancer.
func checkHostname(name string, path *field.Path) field.ErrorList {
	errs := resource.CheckValue(path, name, validation.IsDNS1123Subdomain)
	if netutils.ParseIPSloppy(name) != nil {
		errs = append(errs, field.Invalid(path, name, "must be a DNS name, not an IP address"))
	}
	return errs
}

// checkIPUnless returns the errors of an address, unless it was stored before: old objects may have been checked by
// other rules.
func checkIPUnless(stored []string, ip string, path *field.Path) field.ErrorList {
	return unless(stored, ip, path, validation.IsValidIP)
}

// checkCIDRUnless is checkIPUnless for a range of addresses.
func checkCIDRUnless(stored []string, cidr string, path *field.Path) field.ErrorList {
	return unless(stored, cidr, path, validation.IsValidCIDR)
}

func unless(
	stored []string, value string, path *field.Path, check func(path *field.Path, value string) field.ErrorList,
) field.ErrorList {
	if slices.Contains(stored, value) {
		return nil
	}
	return check(path, value)
}
