package autoscaling

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func metricToV1(m *autoscalingv2.MetricSpec) autoscalingv1.MetricSpec {
	out := autoscalingv1.MetricSpec{Type: autoscalingv1.MetricSourceType(m.Type)}
	if s := m.Object; s != nil {
		out.Object = &autoscalingv1.ObjectMetricSource{
			Target: autoscalingv1.CrossVersionObjectReference(s.DescribedObject), MetricName: s.Metric.Name,
			Selector: s.Metric.Selector, TargetValue: quantity(s.Target.Value), AverageValue: s.Target.AverageValue,
		}
	}
	if s := m.Pods; s != nil {
		out.Pods = &autoscalingv1.PodsMetricSource{
			MetricName: s.Metric.Name, Selector: s.Metric.Selector, TargetAverageValue: quantity(s.Target.AverageValue),
		}
	}
	if s := m.Resource; s != nil {
		out.Resource = &autoscalingv1.ResourceMetricSource{
			Name: s.Name, TargetAverageUtilization: s.Target.AverageUtilization, TargetAverageValue: s.Target.AverageValue,
		}
	}
	if s := m.ContainerResource; s != nil {
		out.ContainerResource = &autoscalingv1.ContainerResourceMetricSource{
			Name: s.Name, Container: s.Container, TargetAverageUtilization: s.Target.AverageUtilization,
			TargetAverageValue: s.Target.AverageValue,
		}
	}
	if s := m.External; s != nil {
		out.External = &autoscalingv1.ExternalMetricSource{
			MetricName: s.Metric.Name, MetricSelector: s.Metric.Selector, TargetValue: s.Target.Value,
			TargetAverageValue: s.Target.AverageValue,
		}
	}
	return out
}

func metricFromV1(m *autoscalingv1.MetricSpec) autoscalingv2.MetricSpec {
	out := autoscalingv2.MetricSpec{Type: autoscalingv2.MetricSourceType(m.Type)}
	if s := m.Object; s != nil {
		out.Object = &autoscalingv2.ObjectMetricSource{
			DescribedObject: autoscalingv2.CrossVersionObjectReference(s.Target),
			Metric:          autoscalingv2.MetricIdentifier{Name: s.MetricName, Selector: s.Selector},
			Target:          valueTarget(nonZero(&s.TargetValue, s.AverageValue == nil), s.AverageValue, s.AverageValue != nil),
		}
	}
	if s := m.Pods; s != nil {
		out.Pods = &autoscalingv2.PodsMetricSource{
			Metric: autoscalingv2.MetricIdentifier{Name: s.MetricName, Selector: s.Selector},
			Target: valueTarget(nil, &s.TargetAverageValue, true),
		}
	}
	if s := m.Resource; s != nil {
		out.Resource = &autoscalingv2.ResourceMetricSource{
			Name: s.Name, Target: utilizationTarget(s.TargetAverageUtilization, s.TargetAverageValue),
		}
	}
	if s := m.ContainerResource; s != nil {
		out.ContainerResource = &autoscalingv2.ContainerResourceMetricSource{
			Name: s.Name, Container: s.Container, Target: utilizationTarget(s.TargetAverageUtilization, s.TargetAverageValue),
		}
	}
	if s := m.External; s != nil {
		out.External = &autoscalingv2.ExternalMetricSource{
			Metric: autoscalingv2.MetricIdentifier{Name: s.MetricName, Selector: s.MetricSelector},
			Target: valueTarget(s.TargetValue, s.TargetAverageValue, s.TargetValue == nil),
		}
	}
	return out
}

// nonZero returns a quantity unless it is a zero that v1 writes for none.
func nonZero(q *resource.Quantity, keepZero bool) *resource.Quantity {
	if q.IsZero() && !keepZero {
		return nil
	}
	return q
}

func valueTarget(value, average *resource.Quantity, byAverage bool) autoscalingv2.MetricTarget {
	target := autoscalingv2.MetricTarget{Type: autoscalingv2.ValueMetricType, Value: value, AverageValue: average}
	if byAverage {
		target.Type = autoscalingv2.AverageValueMetricType
	}
	return target
}

func utilizationTarget(utilization *int32, average *resource.Quantity) autoscalingv2.MetricTarget {
	target := autoscalingv2.MetricTarget{
		Type: autoscalingv2.UtilizationMetricType, AverageValue: average, AverageUtilization: utilization,
	}
	if utilization == nil {
		target.Type = autoscalingv2.AverageValueMetricType
	}
	return target
}

// statusesToV1 converts the current values of metrics, and sets the field that v1 has for one of them.
func statusesToV1(
	current []autoscalingv2.MetricStatus, status *autoscalingv1.HorizontalPodAutoscalerStatus,
) (out []autoscalingv1.MetricStatus) {
	for n := range current {
		m := &current[n]
		out = append(out, statusToV1(m))
		if m.Type == autoscalingv2.ResourceMetricSourceType && m.Resource != nil && m.Resource.Name == corev1.ResourceCPU &&
			m.Resource.Current.AverageUtilization != nil {
			status.CurrentCPUUtilizationPercentage = m.Resource.Current.AverageUtilization
		}
	}
	return out
}

func statusToV1(m *autoscalingv2.MetricStatus) autoscalingv1.MetricStatus {
	out := autoscalingv1.MetricStatus{Type: autoscalingv1.MetricSourceType(m.Type)}
	if s := m.Object; s != nil {
		out.Object = &autoscalingv1.ObjectMetricStatus{
			Target: autoscalingv1.CrossVersionObjectReference(s.DescribedObject), MetricName: s.Metric.Name,
			Selector: s.Metric.Selector, CurrentValue: quantity(s.Current.Value), AverageValue: s.Current.AverageValue,
		}
	}
	if s := m.Pods; s != nil {
		out.Pods = &autoscalingv1.PodsMetricStatus{
			MetricName: s.Metric.Name, Selector: s.Metric.Selector, CurrentAverageValue: quantity(s.Current.AverageValue),
		}
	}
	if s := m.Resource; s != nil {
		out.Resource = &autoscalingv1.ResourceMetricStatus{
			Name: s.Name, CurrentAverageUtilization: s.Current.AverageUtilization,
			CurrentAverageValue: quantity(s.Current.AverageValue),
		}
	}
	if s := m.ContainerResource; s != nil {
		out.ContainerResource = &autoscalingv1.ContainerResourceMetricStatus{
			Name: s.Name, Container: s.Container, CurrentAverageUtilization: s.Current.AverageUtilization,
			CurrentAverageValue: quantity(s.Current.AverageValue),
		}
	}
	if s := m.External; s != nil {
		out.External = &autoscalingv1.ExternalMetricStatus{
			MetricName: s.Metric.Name, MetricSelector: s.Metric.Selector, CurrentValue: quantity(s.Current.Value),
			CurrentAverageValue: s.Current.AverageValue,
		}
	}
	return out
}

func statusOfV1(m *autoscalingv1.MetricStatus) autoscalingv2.MetricStatus {
	out := autoscalingv2.MetricStatus{Type: autoscalingv2.MetricSourceType(m.Type)}
	if s := m.Object; s != nil {
		out.Object = &autoscalingv2.ObjectMetricStatus{
			DescribedObject: autoscalingv2.CrossVersionObjectReference(s.Target),
			Metric:          autoscalingv2.MetricIdentifier{Name: s.MetricName, Selector: s.Selector},
			Current:         autoscalingv2.MetricValueStatus{Value: &s.CurrentValue, AverageValue: s.AverageValue},
		}
	}
	if s := m.Pods; s != nil {
		out.Pods = &autoscalingv2.PodsMetricStatus{
			Metric:  autoscalingv2.MetricIdentifier{Name: s.MetricName, Selector: s.Selector},
			Current: autoscalingv2.MetricValueStatus{AverageValue: &s.CurrentAverageValue},
		}
	}
	if s := m.Resource; s != nil {
		out.Resource = &autoscalingv2.ResourceMetricStatus{Name: s.Name, Current: autoscalingv2.MetricValueStatus{
			AverageValue: &s.CurrentAverageValue, AverageUtilization: s.CurrentAverageUtilization,
		}}
	}
	if s := m.ContainerResource; s != nil {
		out.ContainerResource = &autoscalingv2.ContainerResourceMetricStatus{
			Name: s.Name, Container: s.Container, Current: autoscalingv2.MetricValueStatus{
				AverageValue: &s.CurrentAverageValue, AverageUtilization: s.CurrentAverageUtilization,
			},
		}
	}
	if s := m.External; s != nil {
		out.External = &autoscalingv2.ExternalMetricStatus{
			Metric:  autoscalingv2.MetricIdentifier{Name: s.MetricName, Selector: s.MetricSelector},
			Current: autoscalingv2.MetricValueStatus{Value: &s.CurrentValue, AverageValue: s.CurrentAverageValue},
		}
	}
	return out
}
