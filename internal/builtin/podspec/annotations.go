package podspec

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/rules"
)

// checkAnnotations checks the annotations that mean something to Kubernetes.
func checkAnnotations(annotations map[string]string, spec *corev1.PodSpec, path *field.Path) field.ErrorList {
	mirrored, mirrors := annotations[corev1.MirrorPodAnnotationKey]
	cost, hasCost := annotations[corev1.PodDeletionCost]
	number, err := strconv.ParseInt(cost, 10, 32)
	return slices.Concat(
		rules.When(mirrors && spec.NodeName == "", field.Invalid(path.Key(corev1.MirrorPodAnnotationKey), mirrored,
			"must set spec.nodeName if mirror pod annotation is set")),
		rules.When(hasCost && (err != nil || strconv.FormatInt(number, 10) != cost),
			field.Invalid(path.Key(corev1.PodDeletionCost), cost, "must be a 32bit integer")),
	)
}
