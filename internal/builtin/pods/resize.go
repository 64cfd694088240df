package pods

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/podspec"
	"github.com/crd-server/crd-server/internal/builtin/resource"
)

var resizeStrategy = resource.Typed[*corev1.Pod]{PrepareUpdate: prepareResize, CheckUpdate: checkResize}

// prepareResize keeps everything but the resources. If the containers are not the same, the checks say so.
func prepareResize(pod, old *corev1.Pod) {
	containers, same := withResources(old.Spec.Containers, pod.Spec.Containers)
	initContainers, sameInit := withResources(old.Spec.InitContainers, pod.Spec.InitContainers)
	if same && sameInit {
		whole := pod.Spec.Resources
		keepAll(pod, old)
		pod.Spec.Containers, pod.Spec.InitContainers, pod.Spec.Resources = containers, initContainers, whole
	}
	keepResources(pod, old)
	podspec.CompleteResources(pod)
	countChange(pod, old)
}

// withResources returns old containers with the resources of new ones; false if they are not the same containers.
func withResources(old, now []corev1.Container) ([]corev1.Container, bool) {
	if len(old) != len(now) {
		return nil, false
	}
	var merged []corev1.Container
	for n := range old {
		if old[n].Name != now[n].Name {
			return nil, false
		}
		c := *old[n].DeepCopy()
		c.Resources, c.ResizePolicy = now[n].Resources, now[n].ResizePolicy
		merged = append(merged, c)
	}
	return merged, true
}

// checkResize checks that a resize changes processors and memory only.
func checkResize(pod, old *corev1.Pod) field.ErrorList {
	if _, mirrors := old.Annotations[corev1.MirrorPodAnnotationKey]; mirrors {
		return field.ErrorList{field.Forbidden(field.NewPath(""), "static pods cannot be resized")}
	}
	if old.Spec.OS != nil && old.Spec.OS.Name == corev1.Windows {
		return field.ErrorList{field.Forbidden(field.NewPath(""), "windows pods cannot be resized")}
	}
	errs := checkStored(pod, old)
	if podspec.QualityOfService(pod) != old.Status.QOSClass {
		errs = append(errs, field.Invalid(specPath, pod.Status.QOSClass,
			"Pod QOS Class may not change as a result of resizing"))
	}
	if !supportsResize(&old.Status) {
		errs = append(errs, field.Forbidden(specPath, "Pod running on node without support for resize"))
	}
	if orderErrs := checkOrder(pod, old); len(orderErrs) > 0 {
		return append(errs, orderErrs...)
	}
	for n := range old.Spec.InitContainers {
		errs = append(errs, checkResized(&pod.Spec.InitContainers[n], &old.Spec.InitContainers[n],
			specPath.Child("initContainers").Index(n).Child("resources"))...)
	}
	for n := range old.Spec.Containers {
		errs = append(errs, checkResized(&pod.Spec.Containers[n], &old.Spec.Containers[n],
			specPath.Child("containers").Index(n).Child("resources"))...)
	}
	for n := range old.Spec.Containers {
		if changesMore(&pod.Spec.Containers[n], &old.Spec.Containers[n]) {
			errs = append(errs, field.Forbidden(specPath, "only cpu and memory resources are mutable"))
		}
	}
	for n := range old.Spec.InitContainers {
		if changesMore(&pod.Spec.InitContainers[n], &old.Spec.InitContainers[n]) {
			errs = append(errs, field.Forbidden(specPath.Child("initContainers").Index(n),
				"only cpu and memory resources for init or sidecar containers are mutable"))
		}
	}
	return errs
}

// supportsResize reports whether the node of a pod reports the resources that its containers have.
func supportsResize(status *corev1.PodStatus) bool {
	for n := range status.ContainerStatuses {
		if s := &status.ContainerStatuses[n]; s.State.Running != nil && s.Resources == nil {
			return false
		}
	}
	return true
}

func checkOrder(pod, old *corev1.Pod) (errs field.ErrorList) {
	for _, list := range []struct {
		name     string
		now, old []corev1.Container
	}{
		{"containers", pod.Spec.Containers, old.Spec.Containers},
		{"initContainers", pod.Spec.InitContainers, old.Spec.InitContainers},
	} {
		path := specPath.Child(list.name)
		if len(list.now) != len(list.old) {
			errs = append(errs, field.Forbidden(path, list.name+" may not be added or removed on resize"))
			continue
		}
		for n := range list.old {
			if list.now[n].Name != list.old[n].Name {
				errs = append(errs, field.Forbidden(path.Index(n).Child("name"),
					list.name+" may not be renamed or reordered on resize"))
			}
		}
	}
	return errs
}

func checkResized(now, old *corev1.Container, path *field.Path) (errs field.ErrorList) {
	if removes(now.Resources.Requests, old.Resources.Requests) {
		errs = append(errs, field.Forbidden(path.Child("requests"), "resource requests cannot be removed"))
	}
	if removes(now.Resources.Limits, old.Resources.Limits) {
		errs = append(errs, field.Forbidden(path.Child("limits"), "resource limits cannot be removed"))
	}
	return errs
}

func removes(now, old corev1.ResourceList) bool {
	for name := range old {
		if _, found := now[name]; !found {
			return true
		}
	}
	return false
}

// changesMore reports whether a container changes in more than its processors, its memory and its resize policy.
func changesMore(now, old *corev1.Container) bool {
	rest := now.DeepCopy()
	rest.Resources.Requests = keepOthers(now.Resources.Requests, old.Resources.Requests)
	rest.Resources.Limits = keepOthers(now.Resources.Limits, old.Resources.Limits)
	return !equality.Semantic.DeepEqual(rest, old)
}

// keepOthers returns a list with the old processors and memory.
func keepOthers(now, old corev1.ResourceList) corev1.ResourceList {
	kept := maps.Clone(now)
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if quantity, found := old[name]; found {
			if kept == nil {
				kept = corev1.ResourceList{}
			}
			kept[name] = quantity
		} else {
			delete(kept, name)
		}
	}
	return kept
}
