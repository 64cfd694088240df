package pods

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/sets"
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
		rules.Invalid(podspec.QualityOfService(pod) != old.Status.QOSClass, specPath, pod.Status.QOSClass,
			"Pod QOS Class may not change as a result of resizing"),
		rules.Forbidden(!supportsResize(&old.Status), specPath, "Pod running on node without support for resize"),
	)
	containers, initContainers := specPath.Child("containers"), specPath.Child("initContainers")
	orderErrs := append(checkOrder(pod.Spec.Containers, old.Spec.Containers, "containers"),
		checkOrder(pod.Spec.InitContainers, old.Spec.InitContainers, "initContainers")...)
	if len(orderErrs) > 0 {
		return append(errs, orderErrs...)
	}
	errs = slices.Concat(errs, checkResized(pod.Spec.InitContainers, old.Spec.InitContainers, initContainers),
		checkResized(pod.Spec.Containers, old.Spec.Containers, containers))
	for n := range old.Spec.Containers {
		errs = append(errs, rules.Forbidden(changesMore(&pod.Spec.Containers[n], &old.Spec.Containers[n]), specPath,
			"only cpu and memory resources are mutable")...)
	}
	for n := range old.Spec.InitContainers {
		errs = append(errs, rules.Forbidden(changesMore(&pod.Spec.InitContainers[n], &old.Spec.InitContainers[n]),
			initContainers.Index(n), "only cpu and memory resources for init or sidecar containers are mutable")...)
	}
	return errs
}

// supportsResize reports whether the node of a pod reports the resources that its containers have.
func supportsResize(status *corev1.PodStatus) bool {
	return !slices.ContainsFunc(status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
		return s.State.Running != nil && s.Resources == nil
	})
}

// checkOrder checks that the containers of a list are the same. name is the list's.
func checkOrder(now, old []corev1.Container, name string) (errs field.ErrorList) {
	path := specPath.Child(name)
	if len(now) != len(old) {
		return field.ErrorList{field.Forbidden(path, name+" may not be added or removed on resize")}
	}
	for n := range old {
		errs = append(errs, rules.Forbidden(now[n].Name != old[n].Name, path.Index(n).Child("name"),
			name+" may not be renamed or reordered on resize")...)
	}
	return errs
}

func checkResized(now, old []corev1.Container, path *field.Path) (errs field.ErrorList) {
	for n := range now {
		resources, now, old := path.Index(n).Child("resources"), now[n].Resources, old[n].Resources
		errs = append(errs, slices.Concat(
			rules.Forbidden(removes(now.Requests, old.Requests), resources.Child("requests"),
				"resource requests cannot be removed"),
			rules.Forbidden(removes(now.Limits, old.Limits), resources.Child("limits"), "resource limits cannot be removed"),
		)...)
	}
	return errs
}

func removes(now, old corev1.ResourceList) bool {
	return !sets.KeySet(now).IsSuperset(sets.KeySet(old))
}

// changesMore reports whether a container changes in more than its processors and its memory.
func changesMore(now, old *corev1.Container) bool {
	return !equality.Semantic.DeepEqual(withoutCompute(now), withoutCompute(old))
}

func withoutCompute(c *corev1.Container) *corev1.Container {
	c = c.DeepCopy()
	for _, list := range []corev1.ResourceList{c.Resources.Requests, c.Resources.Limits} {
		delete(list, corev1.ResourceCPU)
		delete(list, corev1.ResourceMemory)
	}
	return c
}

var ephemeralStrategy = resource.Typed[*corev1.Pod]{
	PrepareUpdate: func(pod, old *corev1.Pod) {
		added := pod.Spec.EphemeralContainers
		keepAll(pod, old)
		pod.Spec.EphemeralContainers = added
		countChange(pod, old)
	},
	CheckUpdate: checkEphemeral,
}

// keepAll keeps everything of the old pod.
func keepAll(pod, old *corev1.Pod) {
	pod.Spec, pod.Status = *old.Spec.DeepCopy(), old.Status
	metav1.ResetObjectMetaForStatus(&pod.ObjectMeta, &old.ObjectMeta)
}

// checkEphemeral checks that ephemeral containers are only added.
func checkEphemeral(pod, old *corev1.Pod) field.ErrorList {
	if metav1.HasAnnotation(old.ObjectMeta, corev1.MirrorPodAnnotationKey) {
		return field.ErrorList{field.Forbidden(field.NewPath(""), "static pods do not support ephemeral containers")}
	}
	errs := checkStored(pod, old)
	path := specPath.Child("ephemeralContainers")
	for _, before := range old.Spec.EphemeralContainers {
		same := func(now corev1.EphemeralContainer) bool { return now.Name == before.Name }
		if now := slices.IndexFunc(pod.Spec.EphemeralContainers, same); now < 0 {
			errs = append(errs, field.Forbidden(path,
				fmt.Sprintf("existing ephemeral containers %q may not be removed\n", before.Name)))
		} else if changed := pod.Spec.EphemeralContainers[now]; !equality.Semantic.DeepEqual(changed, before) {
			errs = append(errs, field.Forbidden(path, fmt.Sprintf("existing ephemeral containers %q may not be changed\n%v",
				before.Name, diff.Diff(before, changed))))
		}
	}
	return errs
}
