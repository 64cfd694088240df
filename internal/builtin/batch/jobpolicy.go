package batch

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/rules"
)

// The limits of the lists in policies.
const (
	maxRules      = 20
	maxExitCodes  = 255
	maxConditions = 20
)

func checkFailurePolicy(spec *batchv1.JobSpec, path *field.Path) field.ErrorList {
	list := spec.PodFailurePolicy.Rules
	return append(rules.When(len(list) > maxRules, field.TooMany(path, len(list), maxRules)),
		rules.Each(list, path, func(rule *batchv1.PodFailurePolicyRule, path *field.Path) field.ErrorList {
			return checkFailureRule(spec, rule, path)
		})...)
}

// checkEnum is rules.OneOf with an error that lists the values if there is none.
func checkEnum[T ~string](value T, path *field.Path, known ...T) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(path, fmt.Sprintf("valid values: %q", known))}
	}
	return rules.Known(value, path, known...)
}

func checkFailureRule(spec *batchv1.JobSpec, rule *batchv1.PodFailurePolicyRule, path *field.Path) field.ErrorList {
	codes, conditions, action := rule.OnExitCodes, rule.OnPodConditions, path.Child("action")
	errs := append(checkEnum(rule.Action, action, batchv1.PodFailurePolicyActionCount,
		batchv1.PodFailurePolicyActionFailIndex, batchv1.PodFailurePolicyActionFailJob,
		batchv1.PodFailurePolicyActionIgnore),
		rules.When(rule.Action == batchv1.PodFailurePolicyActionFailIndex && spec.BackoffLimitPerIndex == nil,
			field.Invalid(action, rule.Action, "requires the backoffLimitPerIndex to be set"))...)
	if codes != nil {
		errs = append(errs, checkExitCodes(spec, codes, path.Child("onExitCodes"))...)
	}
	return slices.Concat(errs,
		rules.When(len(conditions) > maxConditions,
			field.TooMany(path.Child("onPodConditions"), len(conditions), maxConditions)),
		rules.Each(conditions, path.Child("onPodConditions"), checkConditionPattern),
		rules.When(codes != nil && len(conditions) > 0, field.Invalid(path, field.OmitValueType{},
			"specifying both OnExitCodes and OnPodConditions is not supported")),
		rules.When(codes == nil && len(conditions) == 0, field.Invalid(path, field.OmitValueType{},
			"specifying one of OnExitCodes and OnPodConditions is required")),
	)
}

func checkConditionPattern(pattern *batchv1.PodFailurePolicyOnPodConditionsPattern, path *field.Path) field.ErrorList {
	return append(rules.QualifiedName(pattern.Type, path.Child("type")), rules.Known(pattern.Status, path.Child("status"),
		corev1.ConditionFalse, corev1.ConditionTrue, corev1.ConditionUnknown)...)
}

func checkExitCodes(
	spec *batchv1.JobSpec, codes *batchv1.PodFailurePolicyOnExitCodesRequirement, path *field.Path,
) field.ErrorList {
	name, values := codes.ContainerName, path.Child("values")
	unknown := name != nil && !slices.ContainsFunc(
		slices.Concat(spec.Template.Spec.Containers, spec.Template.Spec.InitContainers),
		func(container corev1.Container) bool { return container.Name == *name })
	errs := slices.Concat(
		checkEnum(codes.Operator, path.Child("operator"),
			batchv1.PodFailurePolicyOnExitCodesOpIn, batchv1.PodFailurePolicyOnExitCodesOpNotIn),
		rules.When(unknown, field.Invalid(path.Child("containerName"), name,
			"must be one of the container or initContainer names in the pod template")),
		rules.When(len(codes.Values) == 0, field.Invalid(values, codes.Values, "at least one value is required")),
		rules.When(len(codes.Values) > maxExitCodes, field.TooMany(values, len(codes.Values), maxExitCodes)),
	)
	for n, code := range codes.Values {
		errs = append(errs, slices.Concat(
			rules.When(codes.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn && code == 0,
				field.Invalid(values.Index(n), code, "must not be 0 for the In operator")),
			rules.When(slices.Contains(codes.Values[:n], code), field.Duplicate(values.Index(n), code)),
		)...)
	}
	return append(errs,
		rules.When(!slices.IsSorted(codes.Values), field.Invalid(values, codes.Values, "must be ordered"))...)
}

func checkSuccessPolicy(spec *batchv1.JobSpec, path *field.Path) field.ErrorList {
	list := spec.SuccessPolicy.Rules
	return slices.Concat(
		rules.When(len(list) == 0,
			field.Required(path, "at least one rules must be specified when the successPolicy is specified")),
		rules.When(len(list) > maxRules, field.TooMany(path, len(list), maxRules)),
		rules.Each(list, path, func(rule *batchv1.SuccessPolicyRule, path *field.Path) field.ErrorList {
			return checkSuccessRule(*spec.Completions, rule, path)
		}),
	)
}

func checkSuccessRule(completions int32, rule *batchv1.SuccessPolicyRule, path *field.Path) field.ErrorList {
	errs := rules.When(rule.SucceededCount == nil && rule.SucceededIndexes == nil,
		field.Required(path, "at least one of succeededCount or succeededIndexes must be specified"))
	named := int32(0)
	if text := rule.SucceededIndexes; text != nil {
		var err error
		if named, err = countIndexes(*text, completions); err != nil {
			errs = append(errs, field.Invalid(path.Child("succeededIndexes"), *text,
				fmt.Sprintf("error parsing succeededIndexes: %s", err)))
		}
	}
	if rule.SucceededCount == nil {
		return errs
	}
	count, number := path.Child("succeededCount"), *rule.SucceededCount
	return slices.Concat(errs,
		rules.NonNegative(number, count),
		rules.When(number > completions, field.Invalid(count, number,
			fmt.Sprintf("must be less than or equal to %d (the number of specified completions)", completions))),
		rules.When(rule.SucceededIndexes != nil && number > named, field.Invalid(count, number,
			fmt.Sprintf("must be less than or equal to %d (the number of "+
				"indexes in the specified succeededIndexes field)", named))),
	)
}
