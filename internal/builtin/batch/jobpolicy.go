package batch

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The limits of the lists in policies.
const (
	maxRules         = 20
	maxExitCodes     = 255
	maxConditions    = 20
	maxIndexesLength = 64 * 1024
)

func checkFailurePolicy(spec *batchv1.JobSpec, path *field.Path) (errs field.ErrorList) {
	rules := spec.PodFailurePolicy.Rules
	if len(rules) > maxRules {
		errs = append(errs, field.TooMany(path, len(rules), maxRules))
	}
	names := sets.New[string]()
	for _, containers := range [][]corev1.Container{spec.Template.Spec.Containers, spec.Template.Spec.InitContainers} {
		for n := range containers {
			names.Insert(containers[n].Name)
		}
	}
	for n := range rules {
		errs = append(errs, checkFailureRule(spec, &rules[n], path.Index(n), names)...)
	}
	return errs
}

var failureActions = []batchv1.PodFailurePolicyAction{
	batchv1.PodFailurePolicyActionCount, batchv1.PodFailurePolicyActionFailIndex,
	batchv1.PodFailurePolicyActionFailJob, batchv1.PodFailurePolicyActionIgnore,
}

func checkFailureRule(
	spec *batchv1.JobSpec, rule *batchv1.PodFailurePolicyRule, path *field.Path, names sets.Set[string],
) (errs field.ErrorList) {
	switch action := path.Child("action"); {
	case rule.Action == "":
		errs = append(errs, field.Required(action, fmt.Sprintf("valid values: %q", failureActions)))
	case !slices.Contains(failureActions, rule.Action):
		errs = append(errs, field.NotSupported(action, rule.Action, failureActions))
	case rule.Action == batchv1.PodFailurePolicyActionFailIndex && spec.BackoffLimitPerIndex == nil:
		errs = append(errs, field.Invalid(action, rule.Action, "requires the backoffLimitPerIndex to be set"))
	}
	if rule.OnExitCodes != nil {
		errs = append(errs, checkExitCodes(rule.OnExitCodes, path.Child("onExitCodes"), names)...)
	}
	errs = append(errs, checkConditions(rule.OnPodConditions, path.Child("onPodConditions"))...)
	switch {
	case rule.OnExitCodes != nil && len(rule.OnPodConditions) > 0:
		errs = append(errs, field.Invalid(path, field.OmitValueType{},
			"specifying both OnExitCodes and OnPodConditions is not supported"))
	case rule.OnExitCodes == nil && len(rule.OnPodConditions) == 0:
		errs = append(errs, field.Invalid(path, field.OmitValueType{},
			"specifying one of OnExitCodes and OnPodConditions is required"))
	}
	return errs
}

func checkConditions(
	patterns []batchv1.PodFailurePolicyOnPodConditionsPattern, path *field.Path,
) (errs field.ErrorList) {
	if len(patterns) > maxConditions {
		errs = append(errs, field.TooMany(path, len(patterns), maxConditions))
	}
	known := []corev1.ConditionStatus{corev1.ConditionFalse, corev1.ConditionTrue, corev1.ConditionUnknown}
	for n, pattern := range patterns {
		for _, message := range validation.IsQualifiedName(string(pattern.Type)) {
			errs = append(errs, field.Invalid(path.Index(n).Child("type"), string(pattern.Type), message))
		}
		if !slices.Contains(known, pattern.Status) {
			errs = append(errs, field.NotSupported(path.Index(n).Child("status"), pattern.Status, known))
		}
	}
	return errs
}

func checkExitCodes(
	codes *batchv1.PodFailurePolicyOnExitCodesRequirement, path *field.Path, names sets.Set[string],
) (errs field.ErrorList) {
	known := []batchv1.PodFailurePolicyOnExitCodesOperator{
		batchv1.PodFailurePolicyOnExitCodesOpIn, batchv1.PodFailurePolicyOnExitCodesOpNotIn,
	}
	switch operator := path.Child("operator"); {
	case codes.Operator == "":
		errs = append(errs, field.Required(operator, fmt.Sprintf("valid values: %q", known)))
	case !slices.Contains(known, codes.Operator):
		errs = append(errs, field.NotSupported(operator, codes.Operator, known))
	}
	if codes.ContainerName != nil && !names.Has(*codes.ContainerName) {
		errs = append(errs, field.Invalid(path.Child("containerName"), *codes.ContainerName,
			"must be one of the container or initContainer names in the pod template"))
	}
	values := path.Child("values")
	switch {
	case len(codes.Values) == 0:
		errs = append(errs, field.Invalid(values, codes.Values, "at least one value is required"))
	case len(codes.Values) > maxExitCodes:
		errs = append(errs, field.TooMany(values, len(codes.Values), maxExitCodes))
	}
	for n, code := range codes.Values {
		if codes.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn && code == 0 {
			errs = append(errs, field.Invalid(values.Index(n), code, "must not be 0 for the In operator"))
		}
		if slices.Contains(codes.Values[:n], code) {
			errs = append(errs, field.Duplicate(values.Index(n), code))
		}
	}
	if !slices.IsSorted(codes.Values) {
		errs = append(errs, field.Invalid(values, codes.Values, "must be ordered"))
	}
	return errs
}

func checkSuccessPolicy(spec *batchv1.JobSpec, path *field.Path) (errs field.ErrorList) {
	rules := spec.SuccessPolicy.Rules
	if len(rules) == 0 {
		errs = append(errs, field.Required(path, "at least one rules must be specified when the successPolicy is specified"))
	}
	if len(rules) > maxRules {
		errs = append(errs, field.TooMany(path, len(rules), maxRules))
	}
	for n := range rules {
		errs = append(errs, checkSuccessRule(*spec.Completions, &rules[n], path.Index(n))...)
	}
	return errs
}

func checkSuccessRule(completions int32, rule *batchv1.SuccessPolicyRule, path *field.Path) (errs field.ErrorList) {
	if rule.SucceededCount == nil && rule.SucceededIndexes == nil {
		errs = append(errs, field.Required(path, "at least one of succeededCount or succeededIndexes must be specified"))
	}
	named := int32(0)
	if text := rule.SucceededIndexes; text != nil {
		indexes := path.Child("succeededIndexes")
		if len(*text) > maxIndexesLength {
			errs = append(errs, field.TooLong(indexes, "", maxIndexesLength))
		}
		intervals, err := parseIndexes(*text, completions)
		if err != nil {
			errs = append(errs, field.Invalid(indexes, *text, fmt.Sprintf("error parsing succeededIndexes: %s", err)))
		}
		named = countIndexes(intervals)
	}
	if rule.SucceededCount == nil {
		return errs
	}
	count, number := path.Child("succeededCount"), *rule.SucceededCount
	errs = append(errs, apivalidation.ValidateNonnegativeField(int64(number), count)...)
	if number > completions {
		errs = append(errs, field.Invalid(count, number,
			fmt.Sprintf("must be less than or equal to %d (the number of specified completions)", completions)))
	}
	if rule.SucceededIndexes != nil && number > named {
		errs = append(errs, field.Invalid(count, number, fmt.Sprintf("must be less than or equal to %d (the number of "+
			"indexes in the specified succeededIndexes field)", named)))
	}
	return errs
}
