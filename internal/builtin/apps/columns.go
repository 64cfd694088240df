package apps

import (
	"slices"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/podspec"
	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// columnsWith returns the columns of a workload: the name, its own, the age, the containers, and last.
func columnsWith(
	own []metav1.TableColumnDefinition, last ...metav1.TableColumnDefinition,
) []metav1.TableColumnDefinition {
	name, age := []metav1.TableColumnDefinition{resource.NameColumn}, []metav1.TableColumnDefinition{resource.AgeColumn}
	return slices.Concat(name, own, age, podspec.ContainerColumns(1), last)
}

func selectorColumn(description string) metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: "Selector", Type: "string", Priority: 1, Description: description}
}

// scaleOf returns the Scale of a workload.
func scaleOf(
	wanted *int32, replicas int32, labels *metav1.LabelSelector,
) (autoscalingv1.ScaleSpec, autoscalingv1.ScaleStatus, error) {
	selector, err := metav1.LabelSelectorAsSelector(labels)
	if err != nil {
		return autoscalingv1.ScaleSpec{}, autoscalingv1.ScaleStatus{}, err
	}
	return autoscalingv1.ScaleSpec{Replicas: ptr.Deref(wanted, 0)},
		autoscalingv1.ScaleStatus{Replicas: replicas, Selector: selector.String()}, nil
}
