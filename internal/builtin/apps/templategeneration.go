package apps

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var nodeSelectorDescription = corev1.PodSpec{}.SwaggerDoc()["nodeSelector"]

// templateGeneration returns how often the template of a DaemonSet was written. It was a field of older versions;
// apps/v1 has it as an annotation.
func templateGeneration(d *appsv1.DaemonSet) int64 {
	generation, err := strconv.ParseInt(d.Annotations[appsv1.DeprecatedTemplateGeneration], 10, 64)
	if err != nil {
		return 0
	}
	return generation
}

func setTemplateGeneration(d *appsv1.DaemonSet, generation int64) {
	metav1.SetMetaDataAnnotation(&d.ObjectMeta, appsv1.DeprecatedTemplateGeneration, strconv.FormatInt(generation, 10))
}
