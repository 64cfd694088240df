package podspec

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// checkAnnotations checks the annotations that mean something to Kubernetes.
func checkAnnotations(annotations map[string]string, spec *corev1.PodSpec, path *field.Path) (errs field.ErrorList) {
	if value, mirrors := annotations[corev1.MirrorPodAnnotationKey]; mirrors && spec.NodeName == "" {
		errs = append(errs, field.Invalid(path.Key(corev1.MirrorPodAnnotationKey), value,
			"must set spec.nodeName if mirror pod annotation is set"))
	}
	cost, found := annotations[corev1.PodDeletionCost]
	if !found {
		return errs
	}
	if number, err := strconv.ParseInt(cost, 10, 32); err != nil || strconv.FormatInt(number, 10) != cost {
		errs = append(errs, field.Invalid(path.Key(corev1.PodDeletionCost), cost, "must be a 32bit integer"))
	}
	return errs
}
