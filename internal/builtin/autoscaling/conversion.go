package autoscaling

import (
	"encoding/json"
	"maps"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
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
			others = append(others, rename[autoscalingv1.MetricSpec](metric, targetFields, true))
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
		parts[conditionsAnnotation] = conditions // which have the same fields in v1
	}
	return out, annotate(&out.ObjectMeta, parts)
}

// annotate adds annotations with the JSON of values.
func annotate(m *metav1.ObjectMeta, values map[string]any) error {
	if len(values) == 0 {
		return nil
	}
	all := map[string]string{}
	maps.Copy(all, m.Annotations)
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

// fromV1 converts an object of v1. It shares parts with obj. An annotation that cannot be read is dropped, as
// kube-apiserver does.
func fromV1(obj runtime.Object) *autoscalingv2.HorizontalPodAutoscaler {
	h := obj.(*autoscalingv1.HorizontalPodAutoscaler)
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
			out.CurrentMetrics = append(out.CurrentMetrics,
				rename[autoscalingv2.MetricStatus](&current[n], currentFields, false))
		}
	}
	read(h, conditionsAnnotation, &out.Conditions)
}

// read decodes an annotation, and reports whether there is one that can be read.
func read[T any](h *autoscalingv1.HorizontalPodAutoscaler, name string, to *T) bool {
	var value T
	if json.Unmarshal([]byte(h.Annotations[name]), &value) != nil {
		return false
	}
	*to = value
	return true
}

// names are the name of a field in v1, and its path in v2.
type names struct{ old, now string }

// targetFields are the fields of metrics by their sources, currentFields those of their current values.
var targetFields, currentFields = fieldsOf("target"), fieldsOf("current")

// fieldsOf returns the fields of metrics that have their values below one.
func fieldsOf(value string) map[string][]names {
	metric, selector := names{"metricName", "metric.name"}, names{"selector", "metric.selector"}
	average := names{value + "AverageValue", value + ".averageValue"}
	utilization := names{value + "AverageUtilization", value + ".averageUtilization"}
	return map[string][]names{
		"object": {{"target", "describedObject"}, metric, selector,
			{value + "Value", value + ".value"}, {"averageValue", value + ".averageValue"}},
		"pods":              {metric, selector, average},
		"resource":          {{"name", "name"}, utilization, average},
		"containerResource": {{"name", "name"}, {"container", "container"}, utilization, average},
		"external":          {metric, {"metricSelector", "metric.selector"}, {value + "Value", value + ".value"}, average},
	}
}

// rename converts a metric, or its current value, by the names of its fields: to v1, or back.
func rename[To any](from any, fields map[string][]names, toV1 bool) (to To) {
	// Metrics have no values that cannot be converted.
	metric, _ := runtime.DefaultUnstructuredConverter.ToUnstructured(from)
	converted := map[string]any{"type": metric["type"]}
	for source, list := range fields {
		content, found := metric[source].(map[string]any)
		if !found {
			continue
		}
		renamed := map[string]any{}
		for _, n := range list {
			path, target := []string{n.old}, strings.Split(n.now, ".")
			if toV1 {
				path, target = target, path
			}
			if value, found, _ := unstructured.NestedFieldNoCopy(content, path...); found {
				_ = unstructured.SetNestedField(renamed, value, target...)
			}
		}
		converted[source] = renamed
	}
	_ = runtime.DefaultUnstructuredConverter.FromUnstructured(converted, &to)
	return to
}

// metricFromV1 also finds the types of targets, which v1 does not have.
func metricFromV1(m *autoscalingv1.MetricSpec) autoscalingv2.MetricSpec {
	out := rename[autoscalingv2.MetricSpec](m, targetFields, false)
	setType := func(target *autoscalingv2.MetricTarget, name autoscalingv2.MetricTargetType, applies bool) {
		if target.Type = autoscalingv2.AverageValueMetricType; applies {
			target.Type = name
		}
	}
	if s := out.Object; s != nil {
		setType(&s.Target, autoscalingv2.ValueMetricType, s.Target.AverageValue == nil)
		if s.Target.AverageValue != nil && s.Target.Value != nil && s.Target.Value.IsZero() {
			s.Target.Value = nil // v1 writes zero for none
		}
	}
	if s := out.Pods; s != nil {
		setType(&s.Target, "", false)
	}
	if s := out.Resource; s != nil {
		setType(&s.Target, autoscalingv2.UtilizationMetricType, s.Target.AverageUtilization != nil)
	}
	if s := out.ContainerResource; s != nil {
		setType(&s.Target, autoscalingv2.UtilizationMetricType, s.Target.AverageUtilization != nil)
	}
	if s := out.External; s != nil {
		setType(&s.Target, autoscalingv2.ValueMetricType, s.Target.Value != nil)
	}
	return out
}

// statusesToV1 converts the current values of metrics, and sets the field that v1 has for one of them.
func statusesToV1(
	current []autoscalingv2.MetricStatus, status *autoscalingv1.HorizontalPodAutoscalerStatus,
) (out []autoscalingv1.MetricStatus) {
	for n := range current {
		m := &current[n]
		out = append(out, rename[autoscalingv1.MetricStatus](m, currentFields, true))
		if m.Type == autoscalingv2.ResourceMetricSourceType && m.Resource != nil && m.Resource.Name == corev1.ResourceCPU &&
			m.Resource.Current.AverageUtilization != nil {
			status.CurrentCPUUtilizationPercentage = m.Resource.Current.AverageUtilization
		}
	}
	return out
}
