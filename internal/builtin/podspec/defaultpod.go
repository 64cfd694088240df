package podspec

import (
	"maps"

	corev1 "k8s.io/api/core/v1"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// DefaultPod sets the defaults of a pod. Those that Default does not set are of pods only, not of templates.
func DefaultPod(pod *corev1.Pod) {
	spec := &pod.Spec
	if seconds := spec.TerminationGracePeriodSeconds; seconds != nil && *seconds < 0 {
		*seconds = 1
	}
	for _, containers := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for n := range containers {
			requestLimits(&containers[n].Resources)
			if spec.HostNetwork {
				shareHostPorts(containers[n].Ports)
			}
		}
	}
	resource.Default(&spec.EnableServiceLinks, corev1.DefaultEnableServiceLinks)
	Default(spec)
	defaultAddresses(&pod.Status)
}

// requestLimits makes a container request the resources that are limited.
func requestLimits(resources *corev1.ResourceRequirements) {
	if resources.Limits == nil {
		return
	}
	requests := maps.Clone(resources.Limits)
	maps.Copy(requests, resources.Requests)
	resources.Requests = requests
}

func shareHostPorts(ports []corev1.ContainerPort) {
	for n := range ports {
		setIfZero(&ports[n].HostPort, ports[n].ContainerPort)
	}
}

// defaultAddresses makes the address and the list of addresses agree.
func defaultAddresses(status *corev1.PodStatus) {
	switch {
	case status.PodIP == "" && len(status.PodIPs) > 0:
		status.PodIP = status.PodIPs[0].IP
	case status.PodIP != "" && (len(status.PodIPs) == 0 || status.PodIPs[0].IP != status.PodIP):
		status.PodIPs = []corev1.PodIP{{IP: status.PodIP}}
	}
}
