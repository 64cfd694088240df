package limitranger

import (
	"fmt"
	"maps"
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
func defaultsOf(limits *corev1.LimitRangeSpec) corev1.ResourceRequirements {
	defaults := corev1.ResourceRequirements{Requests: corev1.ResourceList{}, Limits: corev1.ResourceList{}}
	for n := range limits.Limits {
		if item := &limits.Limits[n]; item.Type == corev1.LimitTypeContainer {
			maps.Copy(defaults.Requests, item.DefaultRequest)
			maps.Copy(defaults.Limits, item.Default)
		}
	}
	return defaults
}

// complete gives a container the defaults that it leaves out. It returns the texts of the annotation.
func complete(container *corev1.Container, defaults *corev1.ResourceRequirements, kind string) (texts []string) {
	if set := fill(&container.Resources.Requests, defaults.Requests); len(set) > 0 {
		texts = append(texts, fmt.Sprintf("%s request for %s %s", strings.Join(set, ", "), kind, container.Name))
	}
	if set := fill(&container.Resources.Limits, defaults.Limits); len(set) > 0 {
		texts = append(texts, fmt.Sprintf("%s limit for %s %s", strings.Join(set, ", "), kind, container.Name))
	}
	return texts
}

// fill sets the quantities that a list does not have. It returns their names in order.
func fill(list *corev1.ResourceList, from corev1.ResourceList) (set []string) {
	for name, quantity := range from {
		if _, found := (*list)[name]; found {
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
