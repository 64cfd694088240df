package connect

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// The subresources proxy. The name of an object may have a scheme and a port: http:name:80.
var (
	PodProxy = proxy("PodProxyOptions", &corev1.PodProxyOptions{}, refusePod, func(path string) runtime.Object {
		return &corev1.PodProxyOptions{Path: path}
	})
	NodeProxy = proxy("NodeProxyOptions", &corev1.NodeProxyOptions{}, refuseNode, func(path string) runtime.Object {
		return &corev1.NodeProxyOptions{Path: path}
	})
	ServiceProxy = proxy("ServiceProxyOptions", &corev1.ServiceProxyOptions{}, refuseService,
		func(path string) runtime.Object { return &corev1.ServiceProxyOptions{Path: path} })
)

func proxy(
	kind string, object runtime.Object, refuse func(ctx context.Context, r resource.ConnectRequest) error,
	options func(path string) runtime.Object,
) resource.Subresource {
	verbs := []string{"create", "delete", "get", "patch", "update"}
	return resource.Subresource{Name: "proxy", Verbs: verbs, Connect: &resource.Connect{
		Kind: kind, Object: object, Proxies: true, Refuse: refuse,
		Decode: func(query url.Values) (runtime.Object, error) { return options(query.Get("path")), nil },
	}}
}

func refusePod(ctx context.Context, r resource.ConnectRequest) error {
	_, name, _, valid := utilnet.SplitSchemeNamePort(r.Name)
	if !valid {
		return apierrors.NewBadRequest(fmt.Sprintf("invalid pod request %q", r.Name))
	}
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
	return unreachable()
}

func refuseNode(ctx context.Context, r resource.ConnectRequest) error {
	_, name, _, valid := utilnet.SplitSchemeNamePort(r.Name)
	if !valid {
		return apierrors.NewBadRequest(fmt.Sprintf("invalid node request %q", r.Name))
	}
	if err := findNode(ctx, r, name); err != nil {
		return err
	}
	return unreachable()
}

// refuseService treats each service as one without endpoints.
func refuseService(ctx context.Context, r resource.ConnectRequest) error {
	_, name, port, valid := utilnet.SplitSchemeNamePort(r.Name)
	if !valid {
		return apierrors.NewBadRequest(fmt.Sprintf("invalid service request %q", r.Name))
	}
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

func unreachable() error {
	return apierrors.NewServiceUnavailable(fmt.Sprintf("error trying to reach service: %v", errUnreachable))
}
