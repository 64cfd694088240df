package pods

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/podspec"
	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/rules"
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
	if metav1.HasAnnotation(old.ObjectMeta, corev1.MirrorPodAnnotationKey) {
		return field.ErrorList{field.Forbidden(field.NewPath(""), "static pods cannot be resized")}
	}
	errs := slices.Concat(
		checkStored(pod, old),
		rules.When(podspec.QualityOfService(pod) != old.Status.QOSClass, field.Invalid(specPath, pod.Status.QOSClass,
			"Pod QOS Class may not change as a result of resizing")),
		rules.When(!supportsResize(&old.Status),
			field.Forbidden(specPath, "Pod running on node without support for resize")),
	)
	containers, initContainers := specPath.Child("containers"), specPath.Child("initContainers")
	orderErrs := append(checkOrder(pod.Spec.Containers, old.Spec.Containers, "containers"),
		checkOrder(pod.Spec.InitContainers, old.Spec.InitContainers, "initContainers")...)
	if len(orderErrs) > 0 {
		return append(errs, orderErrs...)
	}
	for n := range old.Spec.InitContainers {
		errs = append(errs,
			checkResized(&pod.Spec.InitContainers[n], &old.Spec.InitContainers[n], initContainers.Index(n))...)
	}
	for n := range old.Spec.Containers {
		errs = append(errs, checkResized(&pod.Spec.Containers[n], &old.Spec.Containers[n], containers.Index(n))...)
	}
	for n := range old.Spec.Containers {
		errs = append(errs, rules.When(changesMore(&pod.Spec.Containers[n], &old.Spec.Containers[n]),
			field.Forbidden(specPath, "only cpu and memory resources are mutable"))...)
	}
	for n := range old.Spec.InitContainers {
		errs = append(errs, rules.When(changesMore(&pod.Spec.InitContainers[n], &old.Spec.InitContainers[n]),
			field.Forbidden(initContainers.Index(n),
				"only cpu and memory resources for init or sidecar containers are mutable"))...)
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

// checkOrder checks that the containers of a list are the same. name is the list's.
func checkOrder(now, old []corev1.Container, name string) (errs field.ErrorList) {
	path := specPath.Child(name)
	if len(now) != len(old) {
		return field.ErrorList{field.Forbidden(path, name+" may not be added or removed on resize")}
	}
	for n := range old {
		errs = append(errs, rules.When(now[n].Name != old[n].Name,
			field.Forbidden(path.Index(n).Child("name"), name+" may not be renamed or reordered on resize"))...)
	}
	return errs
}

func checkResized(now, old *corev1.Container, path *field.Path) field.ErrorList {
	return slices.Concat(
		rules.When(removes(now.Resources.Requests, old.Resources.Requests),
			field.Forbidden(path.Child("resources", "requests"), "resource requests cannot be removed")),
		rules.When(removes(now.Resources.Limits, old.Resources.Limits),
			field.Forbidden(path.Child("resources", "limits"), "resource limits cannot be removed")),
	)
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
