package autoscaling

import (
	"errors"
	"fmt"
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

func checkSpec(spec *autoscalingv2.HorizontalPodAutoscalerSpec) (errs field.ErrorList) {
	path := field.NewPath("spec")
	minimum, maximum := ptr.Deref(spec.MinReplicas, 0), path.Child("maxReplicas")
	if spec.MinReplicas != nil && spec.MaxReplicas < minimum {
		errs = append(errs, field.Invalid(maximum, spec.MaxReplicas, "must be greater than or equal to `minReplicas`"))
	}
	errs = append(errs, checkReference(&spec.ScaleTargetRef, spec.ScaleTargetRef.Kind == "ReplicationController",
		path.Child("scaleTargetRef"))...)
	errs = append(errs, checkMetrics(spec, path.Child("metrics"))...)
	if b := spec.Behavior; b != nil {
		errs = append(errs, checkRules(b.ScaleUp, path.Child("behavior", "scaleUp"))...)
		errs = append(errs, checkRules(b.ScaleDown, path.Child("behavior", "scaleDown"))...)
	}
	if minimum < 0 {
		errs = append(errs, field.Invalid(path.Child("minReplicas"), minimum, "must be greater than or equal to 0"))
	}
	if spec.MaxReplicas == 0 {
		errs = append(errs, field.Required(maximum, ""))
	} else if spec.MaxReplicas < 0 {
		errs = append(errs, field.Invalid(maximum, spec.MaxReplicas, "must be greater than or equal to 1"))
	}
	return errs
}

// checkReference checks a reference to another object. coreGroup says that it may be one of the group core.
func checkReference(
	ref *autoscalingv2.CrossVersionObjectReference, coreGroup bool, path *field.Path,
) (errs field.ErrorList) {
	for _, part := range []struct{ name, value string }{{"kind", ref.Kind}, {"name", ref.Name}} {
		if part.value == "" {
			errs = append(errs, field.Required(path.Child(part.name), ""))
			continue
		}
		for _, message := range content.IsPathSegmentName(part.value) {
			errs = append(errs, field.Invalid(path.Child(part.name), part.value, message))
		}
	}
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err == nil && gv.Group == "" && !coreGroup {
		err = errors.New("apiVersion must specify API group")
	}
	if err != nil {
		errs = append(errs, field.Invalid(path.Child("apiVersion"), ref.APIVersion, err.Error()))
	}
	return errs
}

func checkMetrics(spec *autoscalingv2.HorizontalPodAutoscalerSpec, path *field.Path) (errs field.ErrorList) {
	outside := false
	for n := range spec.Metrics {
		errs = append(errs, checkMetric(&spec.Metrics[n], path.Index(n))...)
		kind := spec.Metrics[n].Type
		outside = outside || kind == autoscalingv2.ObjectMetricSourceType || kind == autoscalingv2.ExternalMetricSourceType
	}
	if spec.MinReplicas != nil && *spec.MinReplicas == 0 && !outside {
		errs = append(errs, field.Forbidden(path,
			"must specify at least one Object or External metric to support scaling to zero replicas"))
	}
	return errs
}

var metricTypes = []autoscalingv2.MetricSourceType{
	autoscalingv2.ContainerResourceMetricSourceType, autoscalingv2.ExternalMetricSourceType,
	autoscalingv2.ObjectMetricSourceType, autoscalingv2.PodsMetricSourceType, autoscalingv2.ResourceMetricSourceType,
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
			errs := checkReference(&m.Object.DescribedObject, true, path.Child("describedObject"))
			return append(errs,
				checkNamed(&m.Object.Metric, &m.Object.Target, "must set either a target value or averageValue", path)...)
		}},
		{autoscalingv2.ExternalMetricSourceType, "external", m.External != nil, func(path *field.Path) field.ErrorList {
			target := &m.External.Target
			errs := checkNamed(&m.External.Metric, target, "must set either a target value for metric or a per-pod target", path)
			if target.Value != nil && target.AverageValue != nil {
				errs = append(errs, field.Forbidden(path.Child("target", "value"),
					"may not set both a target value for metric and a per-pod target"))
			}
			return errs
		}},
		{autoscalingv2.PodsMetricSourceType, "pods", m.Pods != nil, func(path *field.Path) field.ErrorList {
			target := m.Pods.Target
			target.Value = nil
			return checkNamed(&m.Pods.Metric, &target, "must specify a positive target averageValue", path)
		}},
		{autoscalingv2.ResourceMetricSourceType, "resource", m.Resource != nil, func(path *field.Path) field.ErrorList {
			return checkUsage(string(m.Resource.Name), &m.Resource.Target, path)
		}},
		{autoscalingv2.ContainerResourceMetricSourceType, "containerResource", m.ContainerResource != nil,
			func(path *field.Path) field.ErrorList {
				errs := checkUsage(string(m.ContainerResource.Name), &m.ContainerResource.Target, path)
				if m.ContainerResource.Container == "" {
					errs = append(errs, field.Required(path.Child("container"), "must specify a container"))
				}
				return errs
			}},
	}
}

func checkMetric(m *autoscalingv2.MetricSpec, path *field.Path) (errs field.ErrorList) {
	if m.Type == "" {
		errs = append(errs, field.Required(path.Child("type"), "must specify a metric source type"))
	}
	if !slices.Contains(metricTypes, m.Type) {
		errs = append(errs, field.NotSupported(path.Child("type"), m.Type, metricTypes))
	}
	count := 0
	all := sourcesOf(m)
	for _, s := range all {
		if s.set {
			if count++; count == 1 {
				errs = append(errs, s.check(path.Child(s.name))...)
			}
		}
	}
	for _, s := range all {
		switch {
		case s.kind == m.Type && !s.set:
			errs = append(errs, field.Required(path.Child(s.name), "must populate information for the given metric source"))
		case s.kind != m.Type && s.set && count != 1:
			errs = append(errs, field.Forbidden(path.Child(s.name), "must populate the given metric source only"))
		}
	}
	return errs
}

// checkNamed checks a metric that has a name. missing is the message for a target without a value.
func checkNamed(
	metric *autoscalingv2.MetricIdentifier, target *autoscalingv2.MetricTarget, missing string, path *field.Path,
) (errs field.ErrorList) {
	name := path.Child("metric", "name")
	if metric.Name == "" {
		errs = append(errs, field.Required(name, "must specify a metric name"))
	}
	for _, message := range content.IsPathSegmentName(metric.Name) {
		errs = append(errs, field.Invalid(name, metric.Name, message))
	}
	errs = append(errs, checkTarget(target, path.Child("target"))...)
	if target.Value == nil && target.AverageValue == nil {
		errs = append(errs, field.Required(path.Child("target", "averageValue"), missing))
	}
	return errs
}

// checkUsage checks a metric that is the usage of a resource.
func checkUsage(name string, target *autoscalingv2.MetricTarget, path *field.Path) (errs field.ErrorList) {
	if name == "" {
		errs = append(errs, field.Required(path.Child("name"), "must specify a resource name"))
	}
	errs = append(errs, checkTarget(target, path.Child("target"))...)
	switch relative, absolute := target.AverageUtilization != nil, target.AverageValue != nil; {
	case !relative && !absolute:
		errs = append(errs, field.Required(path.Child("target", "averageUtilization"),
			"must set either a target raw value or a target utilization"))
	case relative && absolute:
		errs = append(errs, field.Forbidden(path.Child("target", "averageValue"),
			"may not set both a target raw value and a target utilization"))
	}
	return errs
}

func checkTarget(target *autoscalingv2.MetricTarget, path *field.Path) (errs field.ErrorList) {
	if target.Type == "" {
		errs = append(errs, field.Required(path.Child("type"), "must specify a metric target type"))
	}
	switch target.Type {
	case autoscalingv2.UtilizationMetricType, autoscalingv2.ValueMetricType, autoscalingv2.AverageValueMetricType:
	default:
		errs = append(errs, field.Invalid(path.Child("type"), target.Type,
			"must be either Utilization, Value, or AverageValue"))
	}
	if target.Value != nil && target.Value.Sign() != 1 {
		errs = append(errs, field.Invalid(path.Child("value"), target.Value, "must be positive"))
	}
	if target.AverageValue != nil && target.AverageValue.Sign() != 1 {
		errs = append(errs, field.Invalid(path.Child("averageValue"), target.AverageValue, "must be positive"))
	}
	if target.AverageUtilization != nil && *target.AverageUtilization < 1 {
		errs = append(errs,
			field.Invalid(path.Child("averageUtilization"), target.AverageUtilization, "must be greater than 0"))
	}
	return errs
}

// The longest times of rules, in seconds.
const (
	maxPeriod = 1800
	maxWindow = 3600
)

func checkRules(rules *autoscalingv2.HPAScalingRules, path *field.Path) (errs field.ErrorList) {
	if rules == nil {
		return nil
	}
	window := path.Child("stabilizationWindowSeconds")
	switch seconds := ptr.Deref(rules.StabilizationWindowSeconds, 0); {
	case seconds < 0:
		errs = append(errs, field.Invalid(window, seconds, "must be greater than or equal to zero"))
	case seconds > maxWindow:
		errs = append(errs, field.Invalid(window, seconds, fmt.Sprintf("must be less than or equal to %v", maxWindow)))
	}
	known := []autoscalingv2.ScalingPolicySelect{
		autoscalingv2.DisabledPolicySelect, autoscalingv2.MaxChangePolicySelect, autoscalingv2.MinChangePolicySelect,
	}
	if rules.SelectPolicy != nil && !slices.Contains(known, *rules.SelectPolicy) {
		errs = append(errs, field.NotSupported(path.Child("selectPolicy"), *rules.SelectPolicy, known))
	}
	if len(rules.Policies) == 0 {
		errs = append(errs, field.Required(path.Child("policies"), "must specify at least one Policy"))
	}
	for n := range rules.Policies {
		errs = append(errs, checkPolicy(&rules.Policies[n], path.Child("policies").Index(n))...)
	}
	if rules.Tolerance != nil && rules.Tolerance.Sign() < 0 {
		errs = append(errs,
			field.Invalid(path.Child("tolerance"), rules.Tolerance.String(), "must be greater than or equal to 0"))
	}
	return errs
}

func checkPolicy(policy *autoscalingv2.HPAScalingPolicy, path *field.Path) (errs field.ErrorList) {
	known := []autoscalingv2.HPAScalingPolicyType{autoscalingv2.PercentScalingPolicy, autoscalingv2.PodsScalingPolicy}
	if !slices.Contains(known, policy.Type) {
		errs = append(errs, field.NotSupported(path.Child("type"), policy.Type, known))
	}
	if policy.Value <= 0 {
		errs = append(errs, field.Invalid(path.Child("value"), policy.Value, "must be greater than zero"))
	}
	if policy.PeriodSeconds <= 0 {
		errs = append(errs, field.Invalid(path.Child("periodSeconds"), policy.PeriodSeconds, "must be greater than zero"))
	}
	if policy.PeriodSeconds > maxPeriod {
		errs = append(errs, field.Invalid(path.Child("periodSeconds"), policy.PeriodSeconds,
			fmt.Sprintf("must be less than or equal to %v", maxPeriod)))
	}
	return errs
}
