package autoscaling

import (
	"encoding/json"
	"maps"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The annotations that have what v1 lacks.
const (
	metricsAnnotation    = "autoscaling.alpha.kubernetes.io/metrics"
	currentAnnotation    = "autoscaling.alpha.kubernetes.io/current-metrics"
	conditionsAnnotation = "autoscaling.alpha.kubernetes.io/conditions"
	behaviorAnnotation   = "autoscaling.alpha.kubernetes.io/behavior"
)

var annotations = []string{
	metricsAnnotation, currentAnnotation, conditionsAnnotation, behaviorAnnotation,
	"autoscaling.alpha.kubernetes.io/scale-down-tolerance", "autoscaling.alpha.kubernetes.io/scale-up-tolerance",
}

// dropAnnotations drops the annotations of v1.
func dropAnnotations(m *metav1.ObjectMeta) {
	kept := maps.Clone(m.Annotations)
	for _, name := range annotations {
		delete(kept, name)
	}
	if len(kept) < len(m.Annotations) {
		m.Annotations = kept
	}
}

// behavior is the behavior in an annotation. It has the names that kube-apiserver's internal version has.
type behavior struct{ ScaleUp, ScaleDown *scalingRules }

type scalingRules struct {
	StabilizationWindowSeconds *int32
	SelectPolicy               *autoscalingv2.ScalingPolicySelect
	Policies                   []policy
	Tolerance                  *resource.Quantity
}

type policy struct {
	Type          autoscalingv2.HPAScalingPolicyType
	Value         int32
	PeriodSeconds int32
}

func annotatedRules(from *autoscalingv2.HPAScalingRules) *scalingRules {
	if from == nil {
		return nil
	}
	to := &scalingRules{
		StabilizationWindowSeconds: from.StabilizationWindowSeconds, SelectPolicy: from.SelectPolicy,
		Tolerance: from.Tolerance,
	}
	for _, p := range from.Policies {
		to.Policies = append(to.Policies, policy(p))
	}
	return to
}

// isUtilization reports whether a metric is the one that v1 has a field for.
func isUtilization(metric *autoscalingv2.MetricSpec) bool {
	return metric.Type == autoscalingv2.ResourceMetricSourceType && metric.Resource != nil &&
		metric.Resource.Name == corev1.ResourceCPU && metric.Resource.Target.AverageUtilization != nil
}

// toV1 converts an object of v2. It shares parts with h.
func toV1(h *autoscalingv2.HorizontalPodAutoscaler) (*autoscalingv1.HorizontalPodAutoscaler, error) {
	out := &autoscalingv1.HorizontalPodAutoscaler{ObjectMeta: h.ObjectMeta}
	dropAnnotations(&out.ObjectMeta)
	out.Spec = autoscalingv1.HorizontalPodAutoscalerSpec{
		ScaleTargetRef: autoscalingv1.CrossVersionObjectReference(h.Spec.ScaleTargetRef),
		MinReplicas:    h.Spec.MinReplicas, MaxReplicas: h.Spec.MaxReplicas,
	}
	out.Status = autoscalingv1.HorizontalPodAutoscalerStatus{
		ObservedGeneration: h.Status.ObservedGeneration, LastScaleTime: h.Status.LastScaleTime,
		CurrentReplicas: h.Status.CurrentReplicas, DesiredReplicas: h.Status.DesiredReplicas,
	}
	parts := map[string]any{}
	var others []autoscalingv1.MetricSpec
	for n := range h.Spec.Metrics {
		metric := &h.Spec.Metrics[n]
		if !isUtilization(metric) {
			others = append(others, metricToV1(metric))
		} else if out.Spec.TargetCPUUtilizationPercentage == nil {
			out.Spec.TargetCPUUtilizationPercentage = metric.Resource.Target.AverageUtilization
		}
	}
	if len(others) > 0 {
		parts[metricsAnnotation] = others
	}
	if current := h.Status.CurrentMetrics; len(current) > 0 {
		parts[currentAnnotation] = statusesToV1(current, &out.Status)
	}
	if b := h.Spec.Behavior; b != nil {
		parts[behaviorAnnotation] = behavior{annotatedRules(b.ScaleUp), annotatedRules(b.ScaleDown)}
	}
	if conditions := h.Status.Conditions; len(conditions) > 0 {
		parts[conditionsAnnotation] = conditionsToV1(conditions)
	}
	return out, annotate(&out.ObjectMeta, parts)
}

// annotate adds annotations with the JSON of values.
func annotate(m *metav1.ObjectMeta, values map[string]any) error {
	if len(values) == 0 {
		return nil
	}
	all := maps.Clone(m.Annotations)
	if all == nil {
		all = map[string]string{}
	}
	for name, value := range values {
		text, err := json.Marshal(value)
		if err != nil {
			return err
		}
		all[name] = string(text)
	}
	m.Annotations = all
	return nil
}

func conditionsToV1(
	conditions []autoscalingv2.HorizontalPodAutoscalerCondition,
) (out []autoscalingv1.HorizontalPodAutoscalerCondition) {
	for _, c := range conditions {
		out = append(out, autoscalingv1.HorizontalPodAutoscalerCondition{
			Type: autoscalingv1.HorizontalPodAutoscalerConditionType(c.Type), Status: c.Status,
			LastTransitionTime: c.LastTransitionTime, Reason: c.Reason, Message: c.Message,
			ObservedGeneration: c.ObservedGeneration,
		})
	}
	return out
}

// fromV1 converts an object of v1. It shares parts with h. An annotation that cannot be read is dropped, as
// kube-apiserver does.
func fromV1(h *autoscalingv1.HorizontalPodAutoscaler) *autoscalingv2.HorizontalPodAutoscaler {
	out := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: h.ObjectMeta}
	out.Spec = autoscalingv2.HorizontalPodAutoscalerSpec{
		ScaleTargetRef: autoscalingv2.CrossVersionObjectReference(h.Spec.ScaleTargetRef),
		MinReplicas:    h.Spec.MinReplicas, MaxReplicas: h.Spec.MaxReplicas,
	}
	out.Status = autoscalingv2.HorizontalPodAutoscalerStatus{
		ObservedGeneration: h.Status.ObservedGeneration, LastScaleTime: h.Status.LastScaleTime,
		CurrentReplicas: h.Status.CurrentReplicas, DesiredReplicas: h.Status.DesiredReplicas,
	}
	var others []autoscalingv1.MetricSpec
	read(h, metricsAnnotation, &others)
	for n := range others {
		out.Spec.Metrics = append(out.Spec.Metrics, metricFromV1(&others[n]))
	}
	if utilization := h.Spec.TargetCPUUtilizationPercentage; utilization != nil {
		out.Spec.Metrics = append(out.Spec.Metrics, cpuMetric(*utilization))
	}
	if len(out.Spec.Metrics) == 0 {
		out.Spec.Metrics = defaultMetrics()
	}
	var b autoscalingv2.HorizontalPodAutoscalerBehavior // decoding finds its fields by names in any case
	if read(h, behaviorAnnotation, &b); b.ScaleUp != nil || b.ScaleDown != nil {
		out.Spec.Behavior = &b
	}
	statusFromV1(h, &out.Status)
	dropAnnotations(&out.ObjectMeta)
	return out
}

func statusFromV1(h *autoscalingv1.HorizontalPodAutoscaler, out *autoscalingv2.HorizontalPodAutoscalerStatus) {
	if utilization := h.Status.CurrentCPUUtilizationPercentage; utilization != nil {
		out.CurrentMetrics = []autoscalingv2.MetricStatus{{
			Type: autoscalingv2.ResourceMetricSourceType,
			Resource: &autoscalingv2.ResourceMetricStatus{
				Name: corev1.ResourceCPU, Current: autoscalingv2.MetricValueStatus{AverageUtilization: utilization},
			},
		}}
	}
	var current []autoscalingv1.MetricStatus
	if read(h, currentAnnotation, &current) {
		out.CurrentMetrics = nil
		for n := range current {
			out.CurrentMetrics = append(out.CurrentMetrics, statusOfV1(&current[n]))
		}
	}
	var conditions []autoscalingv1.HorizontalPodAutoscalerCondition
	read(h, conditionsAnnotation, &conditions)
	for _, c := range conditions {
		out.Conditions = append(out.Conditions, autoscalingv2.HorizontalPodAutoscalerCondition{
			Type: autoscalingv2.HorizontalPodAutoscalerConditionType(c.Type), Status: c.Status,
			LastTransitionTime: c.LastTransitionTime, Reason: c.Reason, Message: c.Message,
			ObservedGeneration: c.ObservedGeneration,
		})
	}
}

// read decodes an annotation, and reports whether there is one that can be read.
func read[T any](h *autoscalingv1.HorizontalPodAutoscaler, name string, to *T) bool {
	text, found := h.Annotations[name]
	if !found {
		return false
	}
	var value T
	if json.Unmarshal([]byte(text), &value) != nil {
		return false
	}
	*to = value
	return true
}
