package apps

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

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
