package autoscaling

import (
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// names are the name of a field in v1, and its path in v2.
type names struct{ old, now string }

// targetFields are the fields of metrics by their sources, currentFields those of their current values.
var (
	targetFields = map[string][]names{
		"object": {{"target", "describedObject"}, {"metricName", "metric.name"}, {"selector", "metric.selector"},
			{"targetValue", "target.value"}, {"averageValue", "target.averageValue"}},
		"pods": {{"metricName", "metric.name"}, {"selector", "metric.selector"},
			{"targetAverageValue", "target.averageValue"}},
		"resource": {{"name", "name"}, {"targetAverageUtilization", "target.averageUtilization"},
			{"targetAverageValue", "target.averageValue"}},
		"containerResource": {{"name", "name"}, {"container", "container"},
			{"targetAverageUtilization", "target.averageUtilization"}, {"targetAverageValue", "target.averageValue"}},
		"external": {{"metricName", "metric.name"}, {"metricSelector", "metric.selector"},
			{"targetValue", "target.value"}, {"targetAverageValue", "target.averageValue"}},
	}
	currentFields = map[string][]names{
		"object": {{"target", "describedObject"}, {"metricName", "metric.name"}, {"selector", "metric.selector"},
			{"currentValue", "current.value"}, {"averageValue", "current.averageValue"}},
		"pods": {{"metricName", "metric.name"}, {"selector", "metric.selector"},
			{"currentAverageValue", "current.averageValue"}},
		"resource": {{"name", "name"}, {"currentAverageUtilization", "current.averageUtilization"},
			{"currentAverageValue", "current.averageValue"}},
		"containerResource": {{"name", "name"}, {"container", "container"},
			{"currentAverageUtilization", "current.averageUtilization"}, {"currentAverageValue", "current.averageValue"}},
		"external": {{"metricName", "metric.name"}, {"metricSelector", "metric.selector"},
			{"currentValue", "current.value"}, {"currentAverageValue", "current.averageValue"}},
	}
)

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

func metricToV1(m *autoscalingv2.MetricSpec) autoscalingv1.MetricSpec {
	return rename[autoscalingv1.MetricSpec](m, targetFields, true)
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

func statusOfV1(m *autoscalingv1.MetricStatus) autoscalingv2.MetricStatus {
	return rename[autoscalingv2.MetricStatus](m, currentFields, false)
}
