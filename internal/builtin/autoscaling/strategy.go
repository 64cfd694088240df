package autoscaling

import (
	"context"
	"errors"
	"fmt"
	"slices"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/rules"
)

var strategy = resource.Typed[*autoscalingv2.HorizontalPodAutoscaler]{
	Name: apivalidation.NameIsDNSSubdomain, CheckBoth: checkAutoscaler,
	Prepare:       resource.Begin[*autoscalingv2.HorizontalPodAutoscaler],
	PrepareUpdate: resource.Follow[*autoscalingv2.HorizontalPodAutoscaler],
}

var statusStrategy = resource.StatusRules(func(h, _ *autoscalingv2.HorizontalPodAutoscaler) field.ErrorList {
	return rules.NonNegatives(&h.Status, field.NewPath("status"), "currentReplicas", "desiredReplicas")
})

// oldRules applies the rules of v2 to objects of v1: it converts them, and back.
type oldRules struct{ resource.Strategy }

// PrepareForCreate implements Strategy.
func (s oldRules) PrepareForCreate(ctx context.Context, obj runtime.Object) {
	rewrite(obj, func(h *autoscalingv2.HorizontalPodAutoscaler) { s.Strategy.PrepareForCreate(ctx, h) })
}

// Validate implements Strategy.
func (s oldRules) Validate(ctx context.Context, obj runtime.Object) field.ErrorList {
	return s.Strategy.Validate(ctx, fromV1(obj))
}

// PrepareForUpdate implements Strategy.
func (s oldRules) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	rewrite(obj, func(h *autoscalingv2.HorizontalPodAutoscaler) { s.Strategy.PrepareForUpdate(ctx, h, fromV1(old)) })
}

// ValidateUpdate implements Strategy.
func (s oldRules) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	return s.Strategy.ValidateUpdate(ctx, fromV1(obj), fromV1(old))
}

// rewrite changes an object of v1 by what change does to it in v2.
func rewrite(obj runtime.Object, change func(*autoscalingv2.HorizontalPodAutoscaler)) {
	h, converted := obj.(*autoscalingv1.HorizontalPodAutoscaler), fromV1(obj)
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
	resource.Default(&rules.SelectPolicy, autoscalingv2.MaxChangePolicySelect)
	if rules.Policies == nil {
		rules.Policies = policies
	}
}

func checkAutoscaler(h *autoscalingv2.HorizontalPodAutoscaler) field.ErrorList {
	spec, path := &h.Spec, field.NewPath("spec")
	minimum, maximum := ptr.Deref(spec.MinReplicas, 0), path.Child("maxReplicas")
	behavior := ptr.Deref(spec.Behavior, autoscalingv2.HorizontalPodAutoscalerBehavior{})
	return slices.Concat(
		rules.Invalid(spec.MinReplicas != nil && spec.MaxReplicas < minimum, maximum, spec.MaxReplicas,
			"must be greater than or equal to `minReplicas`"),
		checkReference(&spec.ScaleTargetRef, spec.ScaleTargetRef.Kind == "ReplicationController",
			path.Child("scaleTargetRef")),
		checkMetrics(spec, path.Child("metrics")),
		rules.Optional(behavior.ScaleUp, path.Child("behavior", "scaleUp"), checkRules),
		rules.Optional(behavior.ScaleDown, path.Child("behavior", "scaleDown"), checkRules),
		rules.NonNegative(minimum, path.Child("minReplicas")),
		rules.Missing(spec.MaxReplicas == 0, maximum, ""),
		rules.Invalid(spec.MaxReplicas < 0, maximum, spec.MaxReplicas, "must be greater than or equal to 1"),
	)
}

// checkReference checks a reference to another object. coreGroup says that it may be one of the group core.
func checkReference(
	ref *autoscalingv2.CrossVersionObjectReference, coreGroup bool, path *field.Path,
) field.ErrorList {
	segment := func(name string, _ bool) []string { return content.IsPathSegmentName(name) }
	errs := append(rules.RequiredName(ref.Kind, path.Child("kind"), segment),
		rules.RequiredName(ref.Name, path.Child("name"), segment)...)
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err == nil && gv.Group == "" && !coreGroup {
		err = errors.New("apiVersion must specify API group")
	}
	if err != nil {
		errs = append(errs, field.Invalid(path.Child("apiVersion"), ref.APIVersion, err.Error()))
	}
	return errs
}

func checkMetrics(spec *autoscalingv2.HorizontalPodAutoscalerSpec, path *field.Path) field.ErrorList {
	outside := slices.ContainsFunc(spec.Metrics, func(m autoscalingv2.MetricSpec) bool {
		return m.Type == autoscalingv2.ObjectMetricSourceType || m.Type == autoscalingv2.ExternalMetricSourceType
	})
	return append(rules.Each(spec.Metrics, path, checkMetric),
		rules.Forbidden(ptr.Deref(spec.MinReplicas, 1) == 0 && !outside, path,
			"must specify at least one Object or External metric to support scaling to zero replicas")...)
}

// source is one of the fields of a metric, of which the type names one.
type source struct {
	kind  autoscalingv2.MetricSourceType
	name  string
	set   bool
	check func(path *field.Path) field.ErrorList
}

func sourcesOf(m *autoscalingv2.MetricSpec) []source {
	return []source{
		{autoscalingv2.ObjectMetricSourceType, "object", m.Object != nil, func(path *field.Path) field.ErrorList {
			return append(checkReference(&m.Object.DescribedObject, true, path.Child("describedObject")),
				checkNamed(&m.Object.Metric, &m.Object.Target, "must set either a target value or averageValue", path)...)
		}},
		{autoscalingv2.ExternalMetricSourceType, "external", m.External != nil, func(path *field.Path) field.ErrorList {
			target := &m.External.Target
			return append(
				checkNamed(&m.External.Metric, target, "must set either a target value for metric or a per-pod target", path),
				rules.Forbidden(target.Value != nil && target.AverageValue != nil, path.Child("target", "value"),
					"may not set both a target value for metric and a per-pod target")...)
		}},
		{autoscalingv2.PodsMetricSourceType, "pods", m.Pods != nil, func(path *field.Path) field.ErrorList {
			return slices.Concat(checkName(&m.Pods.Metric, path), checkTarget(&m.Pods.Target, path.Child("target")),
				rules.Missing(!isPositive(m.Pods.Target.AverageValue), path.Child("target", "averageValue"),
					"must specify a positive target averageValue"))
		}},
		{autoscalingv2.ResourceMetricSourceType, "resource", m.Resource != nil, func(path *field.Path) field.ErrorList {
			return checkUsage(string(m.Resource.Name), &m.Resource.Target, path)
		}},
		{autoscalingv2.ContainerResourceMetricSourceType, "containerResource", m.ContainerResource != nil,
			func(path *field.Path) field.ErrorList {
				return append(checkUsage(string(m.ContainerResource.Name), &m.ContainerResource.Target, path),
					rules.Missing(m.ContainerResource.Container == "", path.Child("container"), "must specify a container")...)
			}},
	}
}

func checkMetric(m *autoscalingv2.MetricSpec, path *field.Path) field.ErrorList {
	errs := append(rules.Missing(m.Type == "", path.Child("type"), "must specify a metric source type"),
		rules.Known(m.Type, path.Child("type"), autoscalingv2.ContainerResourceMetricSourceType,
			autoscalingv2.ExternalMetricSourceType, autoscalingv2.ObjectMetricSourceType,
			autoscalingv2.PodsMetricSourceType, autoscalingv2.ResourceMetricSourceType)...)
	all, count := sourcesOf(m), 0
	for _, s := range all {
		if s.set {
			if count++; count == 1 {
				errs = append(errs, s.check(path.Child(s.name))...)
			}
		}
	}
	for _, s := range all {
		errs = append(errs, slices.Concat(
			rules.Missing(s.kind == m.Type && !s.set, path.Child(s.name),
				"must populate information for the given metric source"),
			rules.Forbidden(s.kind != m.Type && s.set && count != 1, path.Child(s.name),
				"must populate the given metric source only"),
		)...)
	}
	return errs
}

func checkName(metric *autoscalingv2.MetricIdentifier, path *field.Path) field.ErrorList {
	path = path.Child("metric", "name")
	return append(rules.Missing(metric.Name == "", path, "must specify a metric name"),
		rules.Messages(path, metric.Name, content.IsPathSegmentName(metric.Name))...)
}

// checkNamed checks a metric that has a name. missing is the message for a target without a value.
func checkNamed(
	metric *autoscalingv2.MetricIdentifier, target *autoscalingv2.MetricTarget, missing string, path *field.Path,
) field.ErrorList {
	return slices.Concat(checkName(metric, path), checkTarget(target, path.Child("target")),
		rules.Missing(target.Value == nil && target.AverageValue == nil, path.Child("target", "averageValue"), missing))
}

// checkUsage checks a metric that is the usage of a resource.
func checkUsage(name string, target *autoscalingv2.MetricTarget, path *field.Path) field.ErrorList {
	relative, absolute := target.AverageUtilization != nil, target.AverageValue != nil
	return slices.Concat(
		rules.Missing(name == "", path.Child("name"), "must specify a resource name"),
		checkTarget(target, path.Child("target")),
		rules.Missing(!relative && !absolute, path.Child("target", "averageUtilization"),
			"must set either a target raw value or a target utilization"),
		rules.Forbidden(relative && absolute, path.Child("target", "averageValue"),
			"may not set both a target raw value and a target utilization"),
	)
}

func isPositive(quantity *apiresource.Quantity) bool { return quantity != nil && quantity.Sign() == 1 }

func checkTarget(target *autoscalingv2.MetricTarget, path *field.Path) field.ErrorList {
	value, average := target.Value, target.AverageValue
	known := []autoscalingv2.MetricTargetType{
		autoscalingv2.UtilizationMetricType, autoscalingv2.ValueMetricType, autoscalingv2.AverageValueMetricType,
	}
	return slices.Concat(
		rules.Missing(target.Type == "", path.Child("type"), "must specify a metric target type"),
		rules.Invalid(!slices.Contains(known, target.Type), path.Child("type"), target.Type,
			"must be either Utilization, Value, or AverageValue"),
		rules.Invalid(value != nil && !isPositive(value), path.Child("value"), value, "must be positive"),
		rules.Invalid(average != nil && !isPositive(average), path.Child("averageValue"), average, "must be positive"),
		rules.Invalid(ptr.Deref(target.AverageUtilization, 1) < 1, path.Child("averageUtilization"),
			target.AverageUtilization, "must be greater than 0"),
	)
}

// The longest times of rules, in seconds.
const (
	maxPeriod = 1800
	maxWindow = 3600
)

func checkRules(scaling autoscalingv2.HPAScalingRules, path *field.Path) field.ErrorList {
	window, seconds := path.Child("stabilizationWindowSeconds"), ptr.Deref(scaling.StabilizationWindowSeconds, 0)
	tolerance := ptr.Deref(scaling.Tolerance, apiresource.Quantity{})
	return slices.Concat(
		rules.Invalid(seconds < 0, window, seconds, "must be greater than or equal to zero"),
		rules.Invalid(seconds > maxWindow, window, seconds, fmt.Sprintf("must be less than or equal to %v", maxWindow)),
		rules.Known(ptr.Deref(scaling.SelectPolicy, autoscalingv2.MaxChangePolicySelect), path.Child("selectPolicy"),
			autoscalingv2.DisabledPolicySelect, autoscalingv2.MaxChangePolicySelect, autoscalingv2.MinChangePolicySelect),
		rules.Missing(len(scaling.Policies) == 0, path.Child("policies"), "must specify at least one Policy"),
		rules.Each(scaling.Policies, path.Child("policies"), checkPolicy),
		rules.Invalid(tolerance.Sign() < 0, path.Child("tolerance"), tolerance.String(),
			"must be greater than or equal to 0"),
	)
}

func checkPolicy(policy *autoscalingv2.HPAScalingPolicy, path *field.Path) field.ErrorList {
	period := path.Child("periodSeconds")
	return slices.Concat(
		rules.Known(policy.Type, path.Child("type"), autoscalingv2.PercentScalingPolicy, autoscalingv2.PodsScalingPolicy),
		rules.Invalid(policy.Value <= 0, path.Child("value"), policy.Value, "must be greater than zero"),
		rules.Invalid(policy.PeriodSeconds <= 0, period, policy.PeriodSeconds, "must be greater than zero"),
		rules.Invalid(policy.PeriodSeconds > maxPeriod, period, policy.PeriodSeconds,
			fmt.Sprintf("must be less than or equal to %v", maxPeriod)),
	)
}
