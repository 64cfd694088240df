package podspec

import (
	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
)

// QualityOfService returns the class of a pod: guaranteed if everything has requests that equal its limits, best effort
// if nothing has any.
func QualityOfService(pod *corev1.Pod) corev1.PodQOSClass {
	if resourcehelper.IsPodLevelResourcesSet(pod) {
		return qualityOf(pod.Spec.Resources)
	}
	class := corev1.PodQOSClass("")
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for n := range containers {
			switch found := qualityOf(&containers[n].Resources); {
			case class == "":
				class = found
			case class != found:
				return corev1.PodQOSBurstable
			}
		}
	}
	if class == "" {
		return corev1.PodQOSBestEffort
	}
	return class
}

func qualityOf(r *corev1.ResourceRequirements) corev1.PodQOSClass {
	if len(r.Requests) == 0 && len(r.Limits) == 0 {
		return corev1.PodQOSBestEffort
	}
	var class corev1.PodQOSClass
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		switch found := qualityOfOne(r, name); {
		case class == "":
			class = found
		case class != found:
			return corev1.PodQOSBurstable
		}
	}
	return class
}

func qualityOfOne(r *corev1.ResourceRequirements, name corev1.ResourceName) corev1.PodQOSClass {
	request, limit := r.Requests[name], r.Limits[name]
	switch {
	case request.IsZero() && limit.IsZero():
		return corev1.PodQOSBestEffort
	case request.Equal(limit):
		return corev1.PodQOSGuaranteed
	}
	return corev1.PodQOSBurstable
}
