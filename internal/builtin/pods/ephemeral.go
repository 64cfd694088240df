package pods

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

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
	for n := range old.Spec.EphemeralContainers {
		before := &old.Spec.EphemeralContainers[n]
		same := func(now corev1.EphemeralContainer) bool { return now.Name == before.Name }
		if now := slices.IndexFunc(pod.Spec.EphemeralContainers, same); now < 0 {
			errs = append(errs, field.Forbidden(path,
				fmt.Sprintf("existing ephemeral containers %q may not be removed\n", before.Name)))
		} else if changed := pod.Spec.EphemeralContainers[now]; !equality.Semantic.DeepEqual(changed, *before) {
			errs = append(errs, field.Forbidden(path, fmt.Sprintf("existing ephemeral containers %q may not be changed\n%v",
				before.Name, diff.Diff(*before, changed))))
		}
	}
	return errs
}
