package limitranger

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// annotation says which resources the plugin has set.
const annotation = "kubernetes.io/limit-ranger"

// addDefaults sets the requests and limits that the containers of a pod leave out, and says so in an annotation.
func addDefaults(limits *corev1.LimitRangeSpec, obj runtime.Object) []error {
	pod := obj.(*corev1.Pod)
	defaults := defaultsOf(limits)
	var set []string
	for n := range pod.Spec.Containers {
		set = append(set, complete(&pod.Spec.Containers[n], &defaults, "container")...)
	}
	for n := range pod.Spec.InitContainers {
		set = append(set, complete(&pod.Spec.InitContainers[n], &defaults, "init container")...)
	}
	if len(set) > 0 {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, annotation, "LimitRanger plugin set: "+strings.Join(set, "; "))
	}
	return nil
}

// defaultsOf returns the defaults for containers. Those of later items win.
func defaultsOf(limits *corev1.LimitRangeSpec) (defaults corev1.ResourceRequirements) {
	for n := range limits.Limits {
		if item := &limits.Limits[n]; item.Type == corev1.LimitTypeContainer {
			fill(&defaults.Requests, item.DefaultRequest, true)
			fill(&defaults.Limits, item.Default, true)
		}
	}
	return defaults
}

// complete gives a container the defaults that it leaves out. It returns the texts of the annotation.
func complete(container *corev1.Container, defaults *corev1.ResourceRequirements, kind string) (texts []string) {
	if set := fill(&container.Resources.Requests, defaults.Requests, false); len(set) > 0 {
		texts = append(texts, fmt.Sprintf("%s request for %s %s", strings.Join(set, ", "), kind, container.Name))
	}
	if set := fill(&container.Resources.Limits, defaults.Limits, false); len(set) > 0 {
		texts = append(texts, fmt.Sprintf("%s limit for %s %s", strings.Join(set, ", "), kind, container.Name))
	}
	return texts
}

// fill sets the quantities that a list does not have, or all of them. It returns their names in order.
func fill(list *corev1.ResourceList, from corev1.ResourceList, all bool) (set []string) {
	for name, quantity := range from {
		if _, found := (*list)[name]; found && !all {
			continue
		}
		if *list == nil {
			*list = corev1.ResourceList{}
		}
		(*list)[name] = quantity.DeepCopy()
		set = append(set, string(name))
	}
	slices.Sort(set)
	return set
}
