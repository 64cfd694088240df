package pods

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

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
		resource.CheckMetadata(&pod.ObjectMeta, apivalidation.NameIsDNSSubdomain),
		podspec.CheckPod(pod),
		rules.Forbidden(len(pod.Spec.EphemeralContainers) > 0, specPath.Child("ephemeralContainers"),
			"cannot be set on create"),
		rules.Forbidden(pod.Spec.NodeName != "" && len(pod.Spec.SchedulingGates) > 0, specPath.Child("nodeName"),
			"cannot be set until all schedulingGates have been cleared"),
	)
}

// SetCondition sets a condition of a pod. The time of its transition changes with its status.
func SetCondition(status *corev1.PodStatus, condition corev1.PodCondition) {
	condition.LastTransitionTime = metav1.Now()
	n := slices.IndexFunc(status.Conditions, func(c corev1.PodCondition) bool { return c.Type == condition.Type })
	if n < 0 {
		status.Conditions = append(status.Conditions, condition)
		return
	}
	if found := &status.Conditions[n]; found.Status == condition.Status {
		condition.LastTransitionTime = found.LastTransitionTime
	}
	status.Conditions[n] = condition
}

// gracePeriod returns the seconds that a pod has to end. A pod without a node, or one that has ended, has none.
func gracePeriod(obj runtime.Object, options *metav1.DeleteOptions) int64 {
	pod := obj.(*corev1.Pod)
	ended := pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
	if pod.Spec.NodeName == "" || ended {
		return 0
	}
	seconds := ptr.Deref(pod.Spec.TerminationGracePeriodSeconds, 0)
	return max(ptr.Deref(options.GracePeriodSeconds, seconds), 0)
}

// mergeMatchLabels adds the pod's own values of matchLabelKeys and mismatchLabelKeys to the selectors that have them.
func mergeMatchLabels(pod *corev1.Pod) {
	for n := range pod.Spec.TopologySpreadConstraints {
		constraint := &pod.Spec.TopologySpreadConstraints[n]
		requireLabels(constraint.LabelSelector, constraint.MatchLabelKeys, pod.Labels, metav1.LabelSelectorOpIn)
	}
	affinity := ptr.Deref(pod.Spec.Affinity, corev1.Affinity{})
	near := ptr.Deref(affinity.PodAffinity, corev1.PodAffinity{})
	apart := ptr.Deref(affinity.PodAntiAffinity, corev1.PodAntiAffinity{})
	mergeTerms(near.RequiredDuringSchedulingIgnoredDuringExecution,
		near.PreferredDuringSchedulingIgnoredDuringExecution, pod.Labels)
	mergeTerms(apart.RequiredDuringSchedulingIgnoredDuringExecution,
		apart.PreferredDuringSchedulingIgnoredDuringExecution, pod.Labels)
}

func mergeTerms(
	required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm, labels map[string]string,
) {
	for n := range required {
		mergeTerm(&required[n], labels)
	}
	for n := range preferred {
		mergeTerm(&preferred[n].PodAffinityTerm, labels)
	}
}

func mergeTerm(term *corev1.PodAffinityTerm, labels map[string]string) {
	requireLabels(term.LabelSelector, term.MatchLabelKeys, labels, metav1.LabelSelectorOpIn)
	requireLabels(term.LabelSelector, term.MismatchLabelKeys, labels, metav1.LabelSelectorOpNotIn)
}

func requireLabels(
	selector *metav1.LabelSelector, keys []string, labels map[string]string, operator metav1.LabelSelectorOperator,
) {
	if selector == nil {
		return
	}
	for _, key := range keys {
		value, found := labels[key]
		requirement := metav1.LabelSelectorRequirement{Key: key, Operator: operator, Values: []string{value}}
		if found {
			selector.MatchExpressions = append(slices.Clip(selector.MatchExpressions), requirement)
		}
	}
}

func podFields() *resource.Fields {
	values := resource.Paths(&corev1.Pod{}, "spec.nodeName", "spec.restartPolicy", "spec.schedulerName",
		"spec.serviceAccountName", "spec.hostNetwork", "status.phase", "status.nominatedNodeName")
	values["status.podIP"] = func(obj runtime.Object) string {
		if addresses := obj.(*corev1.Pod).Status.PodIPs; len(addresses) > 0 {
			return addresses[0].IP
		}
		return ""
	}
	values["status.podIPs"] = func(runtime.Object) string { return "" } // kube-apiserver gives it no value
	return &resource.Fields{Values: values}
}
