package connect

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/crd-server/crd-server/internal/builtin/podspec"
)

// refuseStream returns the error of a stream to a pod, or to a container of it.
func (r Request) refuseStream(ctx context.Context, container *string) error {
	obj, err := r.Read(ctx, "pods", r.Namespace, r.Name)
	if err != nil {
		return err
	}
	pod := obj.(*corev1.Pod)
	if container != nil {
		if err := checkContainer(pod, *container); err != nil {
			return err
		}
	}
	if pod.Spec.NodeName == "" {
		return apierrors.NewBadRequest(fmt.Sprintf("pod %s does not have a host assigned", r.Name))
	}
	if err := r.checkNode(ctx, pod.Spec.NodeName, ""); err != nil {
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
	podspec.ForEachContainer(&pod.Spec, func(container *corev1.Container) { names = append(names, container.Name) })
	switch {
	case name == "" && len(pod.Spec.Containers) > 1:
		return apierrors.NewBadRequest(fmt.Sprintf(
			"a container name must be specified for pod %s, choose one of: %s", pod.Name, names))
	case name != "" && !slices.Contains(names, name):
		return apierrors.NewBadRequest(fmt.Sprintf("container %s is not valid for pod %s", name, pod.Name))
	}
	return nil
}
