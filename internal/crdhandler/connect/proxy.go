package connect

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// refuseProxy returns the error of a request to an object, whose name may have a scheme and a port: http:name:80.
func (r Request) refuseProxy(
	ctx context.Context, kind string, check func(ctx context.Context, name, port string) error,
) error {
	_, name, port, valid := utilnet.SplitSchemeNamePort(r.Name)
	if !valid {
		return apierrors.NewBadRequest(fmt.Sprintf("invalid %s request %q", kind, r.Name))
	}
	if err := check(ctx, name, port); err != nil {
		return err
	}
	return apierrors.NewServiceUnavailable(fmt.Sprintf("error trying to reach service: %v", errUnreachable))
}

// checkPod checks that a pod exists and has an address.
func (r Request) checkPod(ctx context.Context, name, _ string) error {
	obj, err := r.Read(ctx, "pods", r.Namespace, name)
	if err != nil {
		return err
	}
	ip := ""
	if ips := obj.(*corev1.Pod).Status.PodIPs; len(ips) > 0 {
		ip = ips[0].IP
	}
	if address, err := netip.ParseAddr(ip); err != nil || !address.IsGlobalUnicast() {
		return apierrors.NewBadRequest("address not allowed")
	}
	return nil
}

// checkNode checks that a node exists and has an address.
func (r Request) checkNode(ctx context.Context, name, _ string) error {
	obj, err := r.Read(ctx, "nodes", "", name)
	if err != nil {
		return err
	}
	if addresses := obj.(*corev1.Node).Status.Addresses; len(addresses) == 0 {
		return fmt.Errorf("no preferred addresses found; known addresses: %v", addresses)
	}
	return nil
}

// checkService treats each service as one without endpoints.
func (r Request) checkService(ctx context.Context, name, port string) error {
	if number, err := strconv.ParseInt(port, 10, 64); err == nil {
		obj, err := r.Read(ctx, "services", r.Namespace, name)
		if err != nil {
			return err
		}
		is := func(p corev1.ServicePort) bool { return int64(p.Port) == number }
		if !slices.ContainsFunc(obj.(*corev1.Service).Spec.Ports, is) {
			return apierrors.NewServiceUnavailable(fmt.Sprintf("no service port %d found for service %q", number, name))
		}
	}
	return apierrors.NewServiceUnavailable(fmt.Sprintf("no endpoints available for service %q", name))
}
