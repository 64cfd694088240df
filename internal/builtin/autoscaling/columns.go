package autoscaling

import (
	"fmt"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// columns are those of both versions, described by the fields of v2.
var columns = resource.Converted[*autoscalingv2.HorizontalPodAutoscaler]{
	Convert: func(obj runtime.Object) *autoscalingv2.HorizontalPodAutoscaler {
		if v1, ok := obj.(*autoscalingv1.HorizontalPodAutoscaler); ok {
			return fromV1(v1)
		}
		return obj.(*autoscalingv2.HorizontalPodAutoscaler)
	},
	Columns: resource.Columns[*autoscalingv2.HorizontalPodAutoscaler]{
		{Name: "Reference", Field: "spec.scaleTargetRef", Cell: func(h *autoscalingv2.HorizontalPodAutoscaler) any {
			return h.Spec.ScaleTargetRef.Kind + "/" + h.Spec.ScaleTargetRef.Name
		}},
		{Name: "Targets", Field: "spec.metrics", Cell: targetsCell},
		{Name: "MinPods", Field: "spec.minReplicas", Cell: func(h *autoscalingv2.HorizontalPodAutoscaler) any {
			if h.Spec.MinReplicas == nil {
				return "<unset>"
			}
			return fmt.Sprint(*h.Spec.MinReplicas)
		}},
		{Name: "MaxPods", Field: "spec.maxReplicas"},
		{Name: "Replicas", Field: "status.currentReplicas"},
		{Name: "Age"},
	},
}

// maxTargets is how many metrics are printed.
const maxTargets = 2

func targetsCell(h *autoscalingv2.HorizontalPodAutoscaler) any {
	if len(h.Spec.Metrics) == 0 {
		return "<none>"
	}
	var cells []string
	for n := range h.Spec.Metrics {
		var current autoscalingv2.MetricStatus
		if n < len(h.Status.CurrentMetrics) {
			current = h.Status.CurrentMetrics[n]
		}
		cells = append(cells, metricCell(&h.Spec.Metrics[n], &current))
	}
	if more := len(cells) - maxTargets; more > 0 {
		return fmt.Sprintf("%s + %d more...", strings.Join(cells[:maxTargets], ", "), more)
	}
	return strings.Join(cells, ", ")
}

// metricCell prints the current value of a metric and its target.
func metricCell(m *autoscalingv2.MetricSpec, s *autoscalingv2.MetricStatus) string {
	switch {
	case m.External != nil:
		return valueCell(&m.External.Target, ptr.Deref(s.External, autoscalingv2.ExternalMetricStatus{}).Current)
	case m.Object != nil:
		return valueCell(&m.Object.Target, ptr.Deref(s.Object, autoscalingv2.ObjectMetricStatus{}).Current)
	case m.Pods != nil:
		current := ptr.Deref(s.Pods, autoscalingv2.PodsMetricStatus{}).Current
		return orUnknown(current.AverageValue) + "/" + m.Pods.Target.AverageValue.String()
	case m.Resource != nil:
		return usageCell(m.Resource.Name, &m.Resource.Target,
			ptr.Deref(s.Resource, autoscalingv2.ResourceMetricStatus{}).Current)
	case m.ContainerResource != nil:
		return usageCell(m.ContainerResource.Name, &m.ContainerResource.Target,
			ptr.Deref(s.ContainerResource, autoscalingv2.ContainerResourceMetricStatus{}).Current)
	}
	return unknown
}

const unknown = "<unknown>"

func valueCell(target *autoscalingv2.MetricTarget, current autoscalingv2.MetricValueStatus) string {
	if target.AverageValue != nil {
		return orUnknown(current.AverageValue) + "/" + target.AverageValue.String() + " (avg)"
	}
	return orUnknown(current.Value) + "/" + target.Value.String()
}

func orUnknown(q *apiresource.Quantity) string {
	if q == nil {
		return unknown
	}
	return q.String()
}

func usageCell(
	name corev1.ResourceName, target *autoscalingv2.MetricTarget, current autoscalingv2.MetricValueStatus,
) string {
	if target.AverageValue != nil {
		return fmt.Sprintf("%s: %s/%s", name, orUnknown(current.AverageValue), target.AverageValue.String())
	}
	value, wanted := unknown, "<auto>"
	if current.AverageUtilization != nil {
		value = fmt.Sprintf("%d%%", *current.AverageUtilization)
	}
	if target.AverageUtilization != nil {
		wanted = fmt.Sprintf("%d%%", *target.AverageUtilization)
	}
	return fmt.Sprintf("%s: %s/%s", name, value, wanted)
}
