package autoscaling

import (
	"errors"
	"fmt"
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/rules"
)

func checkSpec(spec *autoscalingv2.HorizontalPodAutoscalerSpec) field.ErrorList {
	path := field.NewPath("spec")
	minimum, maximum := ptr.Deref(spec.MinReplicas, 0), path.Child("maxReplicas")
	behavior := ptr.Deref(spec.Behavior, autoscalingv2.HorizontalPodAutoscalerBehavior{})
	return slices.Concat(
		rules.When(spec.MinReplicas != nil && spec.MaxReplicas < minimum,
			field.Invalid(maximum, spec.MaxReplicas, "must be greater than or equal to `minReplicas`")),
		checkReference(&spec.ScaleTargetRef, spec.ScaleTargetRef.Kind == "ReplicationController",
			path.Child("scaleTargetRef")),
		checkMetrics(spec, path.Child("metrics")),
		checkRules(behavior.ScaleUp, path.Child("behavior", "scaleUp")),
		checkRules(behavior.ScaleDown, path.Child("behavior", "scaleDown")),
		rules.NonNegative(minimum, path.Child("minReplicas")),
		rules.When(spec.MaxReplicas == 0, field.Required(maximum, "")),
		rules.When(spec.MaxReplicas < 0, field.Invalid(maximum, spec.MaxReplicas, "must be greater than or equal to 1")),
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
		rules.When(ptr.Deref(spec.MinReplicas, 1) == 0 && !outside, field.Forbidden(path,
			"must specify at least one Object or External metric to support scaling to zero replicas"))...)
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
				rules.When(target.Value != nil && target.AverageValue != nil, field.Forbidden(path.Child("target", "value"),
					"may not set both a target value for metric and a per-pod target"))...)
		}},
		{autoscalingv2.PodsMetricSourceType, "pods", m.Pods != nil, func(path *field.Path) field.ErrorList {
			return slices.Concat(checkName(&m.Pods.Metric, path), checkTarget(&m.Pods.Target, path.Child("target")),
				rules.When(!isPositive(m.Pods.Target.AverageValue), field.Required(path.Child("target", "averageValue"),
					"must specify a positive target averageValue")))
		}},
		{autoscalingv2.ResourceMetricSourceType, "resource", m.Resource != nil, func(path *field.Path) field.ErrorList {
			return checkUsage(string(m.Resource.Name), &m.Resource.Target, path)
		}},
		{autoscalingv2.ContainerResourceMetricSourceType, "containerResource", m.ContainerResource != nil,
			func(path *field.Path) field.ErrorList {
				return append(checkUsage(string(m.ContainerResource.Name), &m.ContainerResource.Target, path),
					rules.When(m.ContainerResource.Container == "",
						field.Required(path.Child("container"), "must specify a container"))...)
			}},
	}
}

func checkMetric(m *autoscalingv2.MetricSpec, path *field.Path) field.ErrorList {
	errs := append(rules.When(m.Type == "", field.Required(path.Child("type"), "must specify a metric source type")),
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
			rules.When(s.kind == m.Type && !s.set,
				field.Required(path.Child(s.name), "must populate information for the given metric source")),
			rules.When(s.kind != m.Type && s.set && count != 1,
				field.Forbidden(path.Child(s.name), "must populate the given metric source only")),
		)...)
	}
	return errs
}

func checkName(metric *autoscalingv2.MetricIdentifier, path *field.Path) field.ErrorList {
	path = path.Child("metric", "name")
	return append(rules.When(metric.Name == "", field.Required(path, "must specify a metric name")),
		rules.Messages(path, metric.Name, content.IsPathSegmentName(metric.Name))...)
}

// checkNamed checks a metric that has a name. missing is the message for a target without a value.
func checkNamed(
	metric *autoscalingv2.MetricIdentifier, target *autoscalingv2.MetricTarget, missing string, path *field.Path,
) field.ErrorList {
	return slices.Concat(checkName(metric, path), checkTarget(target, path.Child("target")),
		rules.When(target.Value == nil && target.AverageValue == nil,
			field.Required(path.Child("target", "averageValue"), missing)))
}

// checkUsage checks a metric that is the usage of a resource.
func checkUsage(name string, target *autoscalingv2.MetricTarget, path *field.Path) field.ErrorList {
	relative, absolute := target.AverageUtilization != nil, target.AverageValue != nil
	return slices.Concat(
		rules.When(name == "", field.Required(path.Child("name"), "must specify a resource name")),
		checkTarget(target, path.Child("target")),
		rules.When(!relative && !absolute, field.Required(path.Child("target", "averageUtilization"),
			"must set either a target raw value or a target utilization")),
		rules.When(relative && absolute, field.Forbidden(path.Child("target", "averageValue"),
			"may not set both a target raw value and a target utilization")),
	)
}

func isPositive(quantity *apiresource.Quantity) bool { return quantity != nil && quantity.Sign() == 1 }

func checkTarget(target *autoscalingv2.MetricTarget, path *field.Path) field.ErrorList {
	value, average := target.Value, target.AverageValue
	known := []autoscalingv2.MetricTargetType{
		autoscalingv2.UtilizationMetricType, autoscalingv2.ValueMetricType, autoscalingv2.AverageValueMetricType,
	}
	return slices.Concat(
		rules.When(target.Type == "", field.Required(path.Child("type"), "must specify a metric target type")),
		rules.When(!slices.Contains(known, target.Type),
			field.Invalid(path.Child("type"), target.Type, "must be either Utilization, Value, or AverageValue")),
		rules.When(value != nil && !isPositive(value), field.Invalid(path.Child("value"), value, "must be positive")),
		rules.When(average != nil && !isPositive(average),
			field.Invalid(path.Child("averageValue"), average, "must be positive")),
		rules.When(ptr.Deref(target.AverageUtilization, 1) < 1,
			field.Invalid(path.Child("averageUtilization"), target.AverageUtilization, "must be greater than 0")),
	)
}

// The longest times of rules, in seconds.
const (
	maxPeriod = 1800
	maxWindow = 3600
)

func checkRules(scaling *autoscalingv2.HPAScalingRules, path *field.Path) (errs field.ErrorList) {
	if scaling == nil {
		return nil
	}
	window, seconds := path.Child("stabilizationWindowSeconds"), ptr.Deref(scaling.StabilizationWindowSeconds, 0)
	errs = append(rules.When(seconds < 0, field.Invalid(window, seconds, "must be greater than or equal to zero")),
		rules.When(seconds > maxWindow,
			field.Invalid(window, seconds, fmt.Sprintf("must be less than or equal to %v", maxWindow)))...)
	if scaling.SelectPolicy != nil {
		errs = append(errs, rules.Known(*scaling.SelectPolicy, path.Child("selectPolicy"),
			autoscalingv2.DisabledPolicySelect, autoscalingv2.MaxChangePolicySelect, autoscalingv2.MinChangePolicySelect)...)
	}
	tolerance := ptr.Deref(scaling.Tolerance, apiresource.Quantity{})
	return slices.Concat(errs,
		rules.When(len(scaling.Policies) == 0, field.Required(path.Child("policies"), "must specify at least one Policy")),
		rules.Each(scaling.Policies, path.Child("policies"), checkPolicy),
		rules.When(tolerance.Sign() < 0,
			field.Invalid(path.Child("tolerance"), tolerance.String(), "must be greater than or equal to 0")),
	)
}

func checkPolicy(policy *autoscalingv2.HPAScalingPolicy, path *field.Path) field.ErrorList {
	period := path.Child("periodSeconds")
	return slices.Concat(
		rules.Known(policy.Type, path.Child("type"), autoscalingv2.PercentScalingPolicy, autoscalingv2.PodsScalingPolicy),
		rules.When(policy.Value <= 0, field.Invalid(path.Child("value"), policy.Value, "must be greater than zero")),
		rules.When(policy.PeriodSeconds <= 0, field.Invalid(period, policy.PeriodSeconds, "must be greater than zero")),
		rules.When(policy.PeriodSeconds > maxPeriod,
			field.Invalid(period, policy.PeriodSeconds, fmt.Sprintf("must be less than or equal to %v", maxPeriod))),
	)
}
