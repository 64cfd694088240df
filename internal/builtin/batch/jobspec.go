package batch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/podspec"
	"github.com/crd-server/crd-server/internal/builtin/rules"
)

const (
	// maxIndexed bounds indexed jobs, whose status names indexes.
	maxIndexed       = 100_000
	maxManagedByName = 63
)

func isIndexed(spec *batchv1.JobSpec) bool {
	return ptr.Deref(spec.CompletionMode, batchv1.NonIndexedCompletion) == batchv1.IndexedCompletion
}

// checkSpec checks what Jobs and templates of Jobs have.
func checkSpec(spec *batchv1.JobSpec, path *field.Path) field.ErrorList {
	errs := slices.Concat(
		rules.NonNegatives(spec, path, "parallelism", "completions", "activeDeadlineSeconds", "backoffLimit"),
		rules.NonNegative(ptr.Deref(spec.TTLSecondsAfterFinished, 0), path.Child("ttlSecondsAfterFinished")),
		rules.NonNegatives(spec, path, "backoffLimitPerIndex", "maxFailedIndexes"),
		rules.Missing(spec.MaxFailedIndexes != nil && spec.BackoffLimitPerIndex == nil, path.Child("backoffLimitPerIndex"),
			"when maxFailedIndexes is specified"))
	if name := spec.ManagedBy; name != nil {
		errs = append(errs, slices.Concat(validation.IsDomainPrefixedPath(path.Child("managedBy"), *name),
			rules.When(len(*name) > maxManagedByName, field.TooLong(path.Child("managedBy"), "", maxManagedByName)))...)
	}
	errs = append(errs, checkMode(spec, path)...)
	if spec.PodFailurePolicy != nil {
		errs = append(errs, checkFailurePolicy(spec, path.Child("podFailurePolicy", "rules"))...)
	}
	switch policy := path.Child("successPolicy"); {
	case spec.SuccessPolicy == nil:
	case !isIndexed(spec):
		errs = append(errs, field.Invalid(policy, *spec.SuccessPolicy, "requires indexed completion mode"))
	case spec.Completions != nil:
		errs = append(errs, checkSuccessPolicy(spec, policy.Child("rules"))...)
	}
	return slices.Concat(errs,
		checkReplacement(spec, path.Child("podReplacementPolicy")),
		podspec.CheckTemplate(&spec.Template, path.Child("template")),
		checkRestart(spec, path.Child("template", "spec", "restartPolicy")),
	)
}

func checkMode(spec *batchv1.JobSpec, path *field.Path) field.ErrorList {
	failed, perIndex := path.Child("maxFailedIndexes"), path.Child("backoffLimitPerIndex")
	switch ptr.Deref(spec.CompletionMode, batchv1.NonIndexedCompletion) {
	case batchv1.IndexedCompletion:
		completions, most := ptr.Deref(spec.Completions, 0), ptr.Deref(spec.MaxFailedIndexes, 0)
		return slices.Concat(
			rules.Missing(spec.Completions == nil, path.Child("completions"), "when completion mode is Indexed"),
			rules.Invalid(ptr.Deref(spec.Parallelism, 0) > maxIndexed, path.Child("parallelism"), spec.Parallelism,
				fmt.Sprintf("must be less than or equal to %d when completion mode is Indexed", maxIndexed)),
			rules.Invalid(spec.Completions != nil && most > completions, failed, most,
				"must be less than or equal to completions"),
			rules.Invalid(most > maxIndexed, failed, most, fmt.Sprintf("must be less than or equal to %d", maxIndexed)),
		)
	case batchv1.NonIndexedCompletion:
		return slices.Concat(
			rules.Invalid(spec.BackoffLimitPerIndex != nil, perIndex, spec.BackoffLimitPerIndex,
				"requires indexed completion mode"),
			rules.Invalid(spec.MaxFailedIndexes != nil, failed, spec.MaxFailedIndexes, "requires indexed completion mode"),
		)
	}
	return field.ErrorList{field.NotSupported(path.Child("completionMode"), *spec.CompletionMode,
		[]batchv1.CompletionMode{batchv1.NonIndexedCompletion, batchv1.IndexedCompletion})}
}

func checkReplacement(spec *batchv1.JobSpec, path *field.Path) field.ErrorList {
	policy := ptr.Deref(spec.PodReplacementPolicy, batchv1.Failed)
	if spec.PodFailurePolicy != nil {
		return rules.Known(policy, path, batchv1.Failed)
	}
	return rules.Known(policy, path, batchv1.Failed, batchv1.TerminatingOrFailed)
}

// checkRestart checks that the pods of a job end.
func checkRestart(spec *batchv1.JobSpec, path *field.Path) field.ErrorList {
	policy := spec.Template.Spec.RestartPolicy
	if policy == corev1.RestartPolicyAlways || policy == "" {
		return field.ErrorList{field.Required(path,
			fmt.Sprintf("valid values: %q, %q", corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever))}
	}
	if spec.PodFailurePolicy != nil && policy == corev1.RestartPolicyOnFailure {
		return field.ErrorList{field.Invalid(path, policy,
			fmt.Sprintf("only %q is supported when podFailurePolicy is specified", corev1.RestartPolicyNever))}
	}
	return rules.Known(policy, path, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever)
}

// The limits of the lists in policies.
const (
	maxRules      = 20
	maxExitCodes  = 255
	maxConditions = 20
)

func checkFailurePolicy(spec *batchv1.JobSpec, path *field.Path) field.ErrorList {
	list := spec.PodFailurePolicy.Rules
	return append(rules.AtMost(list, maxRules, path),
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
		rules.Invalid(rule.Action == batchv1.PodFailurePolicyActionFailIndex && spec.BackoffLimitPerIndex == nil, action,
			rule.Action, "requires the backoffLimitPerIndex to be set")...)
	if codes != nil {
		errs = append(errs, checkExitCodes(spec, codes, path.Child("onExitCodes"))...)
	}
	return slices.Concat(errs,
		rules.AtMost(conditions, maxConditions, path.Child("onPodConditions")),
		rules.Each(conditions, path.Child("onPodConditions"), checkConditionPattern),
		rules.Invalid(codes != nil && len(conditions) > 0, path, field.OmitValueType{},
			"specifying both OnExitCodes and OnPodConditions is not supported"),
		rules.Invalid(codes == nil && len(conditions) == 0, path, field.OmitValueType{},
			"specifying one of OnExitCodes and OnPodConditions is required"),
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
		rules.Invalid(unknown, path.Child("containerName"), name,
			"must be one of the container or initContainer names in the pod template"),
		rules.Invalid(len(codes.Values) == 0, values, codes.Values, "at least one value is required"),
		rules.AtMost(codes.Values, maxExitCodes, values),
	)
	for n, code := range codes.Values {
		errs = append(errs, slices.Concat(
			rules.Invalid(codes.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn && code == 0, values.Index(n), code,
				"must not be 0 for the In operator"),
			rules.When(slices.Contains(codes.Values[:n], code), field.Duplicate(values.Index(n), code)),
		)...)
	}
	return append(errs,
		rules.Invalid(!slices.IsSorted(codes.Values), values, codes.Values, "must be ordered")...)
}

func checkSuccessPolicy(spec *batchv1.JobSpec, path *field.Path) field.ErrorList {
	list := spec.SuccessPolicy.Rules
	return slices.Concat(
		rules.Missing(len(list) == 0, path, "at least one rules must be specified when the successPolicy is specified"),
		rules.AtMost(list, maxRules, path),
		rules.Each(list, path, func(rule *batchv1.SuccessPolicyRule, path *field.Path) field.ErrorList {
			return checkSuccessRule(*spec.Completions, rule, path)
		}),
	)
}

func checkSuccessRule(completions int32, rule *batchv1.SuccessPolicyRule, path *field.Path) field.ErrorList {
	errs := rules.Missing(rule.SucceededCount == nil && rule.SucceededIndexes == nil, path,
		"at least one of succeededCount or succeededIndexes must be specified")
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
		rules.Invalid(number > completions, count, number,
			fmt.Sprintf("must be less than or equal to %d (the number of specified completions)", completions)),
		rules.When(rule.SucceededIndexes != nil && number > named, field.Invalid(count, number,
			fmt.Sprintf("must be less than or equal to %d (the number of "+
				"indexes in the specified succeededIndexes field)", named))),
	)
}

// countIndexes counts indexes such as "1,3-5,7". They ascend, and are less than completions.
func countIndexes(text string, completions int32) (count int32, err error) {
	if text == "" {
		return 0, nil
	}
	before := int32(-1)
	for part := range strings.SplitSeq(text, ",") {
		first, last, err := parseInterval(part, completions)
		if err != nil {
			return 0, err
		}
		if before >= first {
			return 0, fmt.Errorf("non-increasing order, previous: %d, current: %d", before, first)
		}
		before, count = last, count+last-first+1
	}
	return count, nil
}

func parseInterval(text string, completions int32) (first, last int32, err error) {
	ends := strings.Split(text, "-")
	if len(ends) > 2 {
		return 0, 0, fmt.Errorf("the fragment %q violates the requirement that an index interval can have at most "+
			"two parts separated by '-'", text)
	}
	first, err = parseIndex(ends[0], completions)
	if err != nil || len(ends) == 1 {
		return first, first, err
	}
	last, err = parseIndex(ends[1], completions)
	if err == nil && first >= last {
		err = fmt.Errorf("non-increasing order, previous: %d, current: %d", first, last)
	}
	return first, last, err
}

func parseIndex(text string, completions int32) (int32, error) {
	index, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return 0, fmt.Errorf("cannot convert string to integer for index: %q", text)
	case index >= int(completions):
		return 0, fmt.Errorf("too large index: %q", text)
	}
	return int32(index), nil
}
