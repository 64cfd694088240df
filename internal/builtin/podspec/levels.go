package podspec

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
)

// CompleteResources fills the resources of a whole pod, if it names some: from those of its containers, and requests
// from limits.
func CompleteResources(pod *corev1.Pod) {
	r := pod.Spec.Resources
	if r == nil || len(r.Requests) == 0 && len(r.Limits) == 0 {
		return
	}
	containers := &corev1.Pod{Spec: corev1.PodSpec{
		Containers: pod.Spec.Containers, InitContainers: pod.Spec.InitContainers,
	}}
	limits := resourcehelper.AggregateContainerLimits(containers, resourcehelper.PodResourcesOptions{})
	requests := resourcehelper.AggregateContainerRequests(containers, resourcehelper.PodResourcesOptions{})
	for name, quantity := range limits {
		if _, requested := r.Requests[name]; !requested && isHugePages(name) {
			fill(&r.Limits, name, quantity)
		}
	}
	for name, quantity := range requests {
		if resourcehelper.IsSupportedPodLevelResource(name) && !isHugePages(name) {
			fill(&r.Requests, name, quantity)
		}
	}
	for name, quantity := range r.Limits {
		if resourcehelper.IsSupportedPodLevelResource(name) {
			fill(&r.Requests, name, quantity)
		}
	}
	for name, request := range r.Requests {
		limit, limited := limits[name]
		if !limited || !resourcehelper.IsSupportedPodLevelResource(name) || !allLimit(&pod.Spec, name) {
			continue
		}
		if request.Cmp(limit) > 0 {
			limit = request
		}
		fill(&r.Limits, name, limit)
	}
}

// fill sets a quantity that a list does not have.
func fill(list *corev1.ResourceList, name corev1.ResourceName, quantity apiresource.Quantity) {
	if _, found := (*list)[name]; found {
		return
	}
	if *list == nil {
		*list = corev1.ResourceList{}
	}
	(*list)[name] = quantity.DeepCopy()
}

// allLimit reports whether every container limits a resource.
func allLimit(spec *corev1.PodSpec, name corev1.ResourceName) bool {
	for _, containers := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for n := range containers {
			if _, limited := containers[n].Resources.Limits[name]; !limited {
				return false
			}
		}
	}
	return true
}

func isHugePages(name corev1.ResourceName) bool {
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}
