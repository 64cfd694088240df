package pods

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// mergeMatchLabels adds the pod's own values of matchLabelKeys and mismatchLabelKeys to the selectors that have them.
func mergeMatchLabels(pod *corev1.Pod) {
	for n := range pod.Spec.TopologySpreadConstraints {
		constraint := &pod.Spec.TopologySpreadConstraints[n]
		requireLabels(constraint.LabelSelector, constraint.MatchLabelKeys, pod.Labels, metav1.LabelSelectorOpIn)
	}
	if pod.Spec.Affinity == nil {
		return
	}
	if affinity := pod.Spec.Affinity.PodAffinity; affinity != nil {
		mergeTerms(affinity.RequiredDuringSchedulingIgnoredDuringExecution,
			affinity.PreferredDuringSchedulingIgnoredDuringExecution, pod.Labels)
	}
	if affinity := pod.Spec.Affinity.PodAntiAffinity; affinity != nil {
		mergeTerms(affinity.RequiredDuringSchedulingIgnoredDuringExecution,
			affinity.PreferredDuringSchedulingIgnoredDuringExecution, pod.Labels)
	}
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
