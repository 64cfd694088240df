package podspec

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ContainerColumns are the columns of the containers of a template, with a priority.
func ContainerColumns(priority int32) []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		{Name: "Containers", Type: "string", Priority: priority, Description: "Names of each container in the template."},
		{
			Name: "Images", Type: "string", Priority: priority,
			Description: "Images referenced by each container in the template.",
		},
	}
}

// ContainerCells returns the cells of ContainerColumns.
func ContainerCells(spec *corev1.PodSpec) []any {
	names, images := make([]string, len(spec.Containers)), make([]string, len(spec.Containers))
	for n := range spec.Containers {
		names[n], images[n] = spec.Containers[n].Name, spec.Containers[n].Image
	}
	return []any{strings.Join(names, ","), strings.Join(images, ",")}
}
