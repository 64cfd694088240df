// Package connect has the subresources by which clients connect to pods, nodes and services through kube-apiserver. See
// resource.Connect. stream.go has exec, attach and portforward, proxy.go the proxies.
package connect

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// errUnreachable stands for the error of a connection that kube-apiserver tries and fails to open.
var errUnreachable = errors.New("this server does not connect to nodes and pods")

// The subresources of pods for streams.
var (
	Exec        = stream("exec", "PodExecOptions", &corev1.PodExecOptions{}, decodeExec)
	Attach      = stream("attach", "PodAttachOptions", &corev1.PodAttachOptions{}, decodeAttach)
	PortForward = stream("portforward", "PodPortForwardOptions", &corev1.PodPortForwardOptions{}, decodePortForward)
)

func stream(
	name, kind string, object runtime.Object, decode func(query url.Values) (runtime.Object, error),
) resource.Subresource {
	return resource.Subresource{Name: name, Verbs: []string{"create", "get"}, Connect: &resource.Connect{
		Kind: kind, Object: object, Decode: decode, Creates: true, Refuse: refuseStream,
	}}
}

func decodeExec(query url.Values) (runtime.Object, error) {
	return &corev1.PodExecOptions{
		Stdin: isSet(query, "stdin"), Stdout: isSet(query, "stdout"), Stderr: isSet(query, "stderr"),
		TTY: isSet(query, "tty"), Container: query.Get("container"), Command: query["command"],
	}, nil
}

func decodeAttach(query url.Values) (runtime.Object, error) {
	return &corev1.PodAttachOptions{
		Stdin: isSet(query, "stdin"), Stdout: isSet(query, "stdout"), Stderr: isSet(query, "stderr"),
		TTY: isSet(query, "tty"), Container: query.Get("container"),
	}, nil
}

func decodePortForward(query url.Values) (runtime.Object, error) {
	options, ports := &corev1.PodPortForwardOptions{}, query["ports"]
	return options, metav1.Convert_Slice_string_To_Slice_int32(&ports, &options.Ports, nil)
}

func isSet(query url.Values, name string) (set bool) {
	values := query[name]
	_ = runtime.Convert_Slice_string_To_bool(&values, &set, nil) // never fails
	return set
}

// refuseStream returns the error of a stream to a container of a pod, or to a pod.
func refuseStream(ctx context.Context, r resource.ConnectRequest) error {
	obj, err := r.Read(ctx, "pods", r.Namespace, r.Name)
	if err != nil {
		return err
	}
	pod := obj.(*corev1.Pod)
	switch options := r.Options.(type) {
	case *corev1.PodExecOptions:
		err = checkContainer(pod, options.Container)
	case *corev1.PodAttachOptions:
		err = checkContainer(pod, options.Container)
	}
	if err != nil {
		return err
	}
	if pod.Spec.NodeName == "" {
		return apierrors.NewBadRequest(fmt.Sprintf("pod %s does not have a host assigned", r.Name))
	}
	if err := findNode(ctx, r, pod.Spec.NodeName); err != nil {
		return err
	}
	if !r.Upgrades {
		return apierrors.NewBadRequest("Upgrade request required")
	}
	return fmt.Errorf("error dialing backend: %w", errUnreachable)
}

// checkContainer checks that a container is one of the pod. Its name may be missing if it is the only one.
func checkContainer(pod *corev1.Pod, name string) error {
	var names []string
	for n := range pod.Spec.InitContainers {
		names = append(names, pod.Spec.InitContainers[n].Name)
	}
	for n := range pod.Spec.Containers {
		names = append(names, pod.Spec.Containers[n].Name)
	}
	for n := range pod.Spec.EphemeralContainers {
		names = append(names, pod.Spec.EphemeralContainers[n].Name)
	}
	switch {
	case name == "" && len(pod.Spec.Containers) > 1:
		return apierrors.NewBadRequest(fmt.Sprintf(
			"a container name must be specified for pod %s, choose one of: %s", pod.Name, names))
	case name != "" && !slices.Contains(names, name):
		return apierrors.NewBadRequest(fmt.Sprintf("container %s is not valid for pod %s", name, pod.Name))
	}
	return nil
}

// findNode checks that a node exists and has an address.
func findNode(ctx context.Context, r resource.ConnectRequest, name string) error {
	obj, err := r.Read(ctx, "nodes", "", name)
	if err != nil {
		return err
	}
	if addresses := obj.(*corev1.Node).Status.Addresses; len(addresses) == 0 {
		return fmt.Errorf("no preferred addresses found; known addresses: %v", addresses)
	}
	return nil
}
