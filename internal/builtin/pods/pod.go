package pods

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/podspec"
	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/rules"
)

var podStrategy = resource.Typed[*corev1.Pod]{
	Prepare: preparePod, Check: checkPod, Warn: podspec.PodWarnings,
	PrepareUpdate: func(pod, old *corev1.Pod) {
		pod.Status = old.Status
		keepResources(pod, old)
		countChange(pod, old)
	},
	CheckUpdate: checkPodUpdate,
}

func defaultPod(obj runtime.Object) { podspec.DefaultPod(obj.(*corev1.Pod)) }

// preparePod makes a new pod a pending one. Only the server sets its status.
func preparePod(pod *corev1.Pod) {
	pod.Generation = 1
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending}
	if len(pod.Spec.SchedulingGates) > 0 {
		SetCondition(&pod.Status, corev1.PodCondition{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonSchedulingGated,
			Message: "Scheduling is blocked due to non-empty scheduling gates",
		})
	}
	mergeMatchLabels(pod)
	podspec.CompleteResources(pod)
	pod.Status.QOSClass = podspec.QualityOfService(pod)
}

// keepResources keeps the resources of the whole pod that an old client leaves out.
func keepResources(pod, old *corev1.Pod) {
	if pod.Spec.Resources == nil {
		pod.Spec.Resources = old.Spec.Resources.DeepCopy()
	}
}

func countChange(pod, old *corev1.Pod) {
	if !equality.Semantic.DeepEqual(pod.Spec, old.Spec) {
		pod.Generation = old.Generation + 1
	}
}

func checkPod(pod *corev1.Pod) field.ErrorList {
	return slices.Concat(
		resource.CheckMetadata(&pod.ObjectMeta, podspec.CheckName),
		podspec.CheckPod(pod),
		rules.When(len(pod.Spec.EphemeralContainers) > 0,
			field.Forbidden(specPath.Child("ephemeralContainers"), "cannot be set on create")),
		rules.When(pod.Spec.NodeName != "" && len(pod.Spec.SchedulingGates) > 0,
			field.Forbidden(specPath.Child("nodeName"), "cannot be set until all schedulingGates have been cleared")),
	)
}

// SetCondition sets a condition of a pod. The time of its transition changes with its status.
func SetCondition(status *corev1.PodStatus, condition corev1.PodCondition) {
	condition.LastTransitionTime = metav1.Now()
	for n := range status.Conditions {
		if found := &status.Conditions[n]; found.Type == condition.Type {
			if found.Status == condition.Status {
				condition.LastTransitionTime = found.LastTransitionTime
			}
			*found = condition
			return
		}
	}
	status.Conditions = append(status.Conditions, condition)
}

// gracePeriod returns the seconds that a pod has to end. A pod without a node, or one that has ended, has none.
func gracePeriod(obj runtime.Object, options *metav1.DeleteOptions) int64 {
	pod := obj.(*corev1.Pod)
	ended := pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
	switch {
	case pod.Spec.NodeName == "" || ended:
		return 0
	case options.GracePeriodSeconds != nil:
		return max(*options.GracePeriodSeconds, 0)
	case pod.Spec.TerminationGracePeriodSeconds != nil:
		return max(*pod.Spec.TerminationGracePeriodSeconds, 0)
	}
	return 0
}
