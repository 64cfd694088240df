// Package connect answers requests to connect to pods, nodes and services, which kube-apiserver passes on. Nothing can
// be reached from here, so the answer is an error. It is the one of kube-apiserver if the request is wrong.
//
// stream.go has exec, attach and portforward, proxy.go the proxies.
package connect

import (
	"context"
	"errors"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// errUnreachable stands for the error of a connection that kube-apiserver tries and fails to open.
var errUnreachable = errors.New("this server does not connect to nodes and pods")

// Request is one request to connect to an object.
type Request struct {
	Namespace, Name string
	Options         runtime.Object
	// Upgrades says that the client asks for another protocol, as streams need it.
	Upgrades bool
	// Read returns an object of core/v1, such as the node of a pod.
	Read func(ctx context.Context, plural, namespace, name string) (runtime.Object, error)
}

// Refuse returns the error that answers an admitted request.
func Refuse(ctx context.Context, r Request) error {
	switch options := r.Options.(type) {
	case *corev1.PodExecOptions:
		return r.refuseStream(ctx, &options.Container)
	case *corev1.PodAttachOptions:
		return r.refuseStream(ctx, &options.Container)
	case *corev1.PodProxyOptions:
		return r.refuseProxy(ctx, "pod", r.checkPod)
	case *corev1.NodeProxyOptions:
		return r.refuseProxy(ctx, "node", r.checkNode)
	case *corev1.ServiceProxyOptions:
		return r.refuseProxy(ctx, "service", r.checkService)
	}
	return r.refuseStream(ctx, nil)
}

// Decode returns the options in the query of a request. They are of the type of an empty object.
func Decode(empty runtime.Object, query url.Values) (runtime.Object, error) {
	switch empty.(type) {
	case *corev1.PodExecOptions:
		return &corev1.PodExecOptions{
			Stdin: isSet(query, "stdin"), Stdout: isSet(query, "stdout"), Stderr: isSet(query, "stderr"),
			TTY: isSet(query, "tty"), Container: query.Get("container"), Command: query["command"],
		}, nil
	case *corev1.PodAttachOptions:
		return &corev1.PodAttachOptions{
			Stdin: isSet(query, "stdin"), Stdout: isSet(query, "stdout"), Stderr: isSet(query, "stderr"),
			TTY: isSet(query, "tty"), Container: query.Get("container"),
		}, nil
	case *corev1.PodProxyOptions:
		return &corev1.PodProxyOptions{Path: query.Get("path")}, nil
	case *corev1.NodeProxyOptions:
		return &corev1.NodeProxyOptions{Path: query.Get("path")}, nil
	case *corev1.ServiceProxyOptions:
		return &corev1.ServiceProxyOptions{Path: query.Get("path")}, nil
	}
	options, ports := &corev1.PodPortForwardOptions{}, query["ports"]
	return options, metav1.Convert_Slice_string_To_Slice_int32(&ports, &options.Ports, nil)
}

func isSet(query url.Values, name string) (set bool) {
	values := query[name]
	_ = runtime.Convert_Slice_string_To_bool(&values, &set, nil) // never fails
	return set
}
