package autoscaling

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

var strategy = resource.Typed[*autoscalingv2.HorizontalPodAutoscaler]{
	Prepare: resource.Begin[*autoscalingv2.HorizontalPodAutoscaler],
	Check: func(h *autoscalingv2.HorizontalPodAutoscaler) field.ErrorList {
		errs := resource.CheckMetadata(&h.ObjectMeta, apivalidation.NameIsDNSSubdomain)
		return append(errs, checkSpec(&h.Spec)...)
	},
	PrepareUpdate: resource.Follow[*autoscalingv2.HorizontalPodAutoscaler],
	CheckUpdate: func(h, old *autoscalingv2.HorizontalPodAutoscaler) field.ErrorList {
		return append(resource.CheckMetadataUpdate(&h.ObjectMeta, &old.ObjectMeta), checkSpec(&h.Spec)...)
	},
}

var statusStrategy = resource.Typed[*autoscalingv2.HorizontalPodAutoscaler]{
	PrepareUpdate: resource.KeepSpec[*autoscalingv2.HorizontalPodAutoscaler],
	CheckUpdate: func(h, old *autoscalingv2.HorizontalPodAutoscaler) field.ErrorList {
		errs, path := resource.CheckMetadataUpdate(&h.ObjectMeta, &old.ObjectMeta), field.NewPath("status")
		errs = append(errs, apivalidation.ValidateNonnegativeField(
			int64(h.Status.CurrentReplicas), path.Child("currentReplicas"))...)
		return append(errs, apivalidation.ValidateNonnegativeField(
			int64(h.Status.DesiredReplicas), path.Child("desiredReplicas"))...)
	},
}

// oldVersion applies a strategy to objects of v1: it converts them, and back.
func oldVersion(
	s resource.Typed[*autoscalingv2.HorizontalPodAutoscaler],
) resource.Typed[*autoscalingv1.HorizontalPodAutoscaler] {
	return resource.Typed[*autoscalingv1.HorizontalPodAutoscaler]{
		Prepare: func(h *autoscalingv1.HorizontalPodAutoscaler) {
			if s.Prepare != nil {
				rewrite(h, s.Prepare)
			}
		},
		Check: func(h *autoscalingv1.HorizontalPodAutoscaler) field.ErrorList {
			if s.Check == nil {
				return nil
			}
			return s.Check(fromV1(h))
		},
		PrepareUpdate: func(h, old *autoscalingv1.HorizontalPodAutoscaler) {
			rewrite(h, func(now *autoscalingv2.HorizontalPodAutoscaler) { s.PrepareUpdate(now, fromV1(old)) })
		},
		CheckUpdate: func(h, old *autoscalingv1.HorizontalPodAutoscaler) field.ErrorList {
			return s.CheckUpdate(fromV1(h), fromV1(old))
		},
	}
}

// rewrite changes an object of v1 by what change does to it in v2.
func rewrite(h *autoscalingv1.HorizontalPodAutoscaler, change func(*autoscalingv2.HorizontalPodAutoscaler)) {
	converted := fromV1(h)
	change(converted)
	if changed, err := toV1(converted); err == nil { // what was converted before can be converted back
		changed.TypeMeta = h.TypeMeta
		*h = *changed
	}
}

// setOldDefaults also gives an object of v1 the form that it has when it is converted: with a metric, and with the
// annotations of v1 in their order. kube-apiserver converts each body that it decodes, so managed fields see that form.
func setOldDefaults(obj runtime.Object) {
	h := obj.(*autoscalingv1.HorizontalPodAutoscaler)
	resource.Default(&h.Spec.MinReplicas, 1)
	rewrite(h, func(*autoscalingv2.HorizontalPodAutoscaler) {})
}

// defaultUtilization is the percentage of its processors that a pod should use if there are no metrics.
const defaultUtilization = 80

func defaultMetrics() []autoscalingv2.MetricSpec {
	return []autoscalingv2.MetricSpec{cpuMetric(defaultUtilization)}
}

func cpuMetric(utilization int32) autoscalingv2.MetricSpec {
	return autoscalingv2.MetricSpec{
		Type: autoscalingv2.ResourceMetricSourceType,
		Resource: &autoscalingv2.ResourceMetricSource{Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{
			Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &utilization,
		}},
	}
}

func setDefaults(obj runtime.Object) {
	h := obj.(*autoscalingv2.HorizontalPodAutoscaler)
	dropAnnotations(&h.ObjectMeta) // as kube-apiserver's conversion does
	spec := &h.Spec
	resource.Default(&spec.MinReplicas, 1)
	if len(spec.Metrics) == 0 {
		spec.Metrics = defaultMetrics()
	}
	if spec.Behavior == nil {
		return
	}
	const seconds = 15
	double := autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PercentScalingPolicy, Value: 100, PeriodSeconds: seconds}
	four := autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PodsScalingPolicy, Value: 4, PeriodSeconds: seconds}
	resource.Default(&spec.Behavior.ScaleUp, autoscalingv2.HPAScalingRules{})
	resource.Default(&spec.Behavior.ScaleUp.StabilizationWindowSeconds, 0)
	setRules(spec.Behavior.ScaleUp, four, double)
	resource.Default(&spec.Behavior.ScaleDown, autoscalingv2.HPAScalingRules{})
	setRules(spec.Behavior.ScaleDown, double)
}

func setRules(rules *autoscalingv2.HPAScalingRules, policies ...autoscalingv2.HPAScalingPolicy) {
	rules.SelectPolicy = ptr.To(ptr.Deref(rules.SelectPolicy, autoscalingv2.MaxChangePolicySelect))
	if rules.Policies == nil {
		rules.Policies = policies
	}
}
