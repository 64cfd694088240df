package batch

import (
	"fmt"
	"slices"

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
	errs := checkNumbers(spec, path)
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

func checkNumbers(spec *batchv1.JobSpec, path *field.Path) field.ErrorList {
	number := func(value *int32, name string) field.ErrorList {
		return rules.NonNegative(ptr.Deref(value, 0), path.Child(name))
	}
	return slices.Concat(
		number(spec.Parallelism, "parallelism"), number(spec.Completions, "completions"),
		rules.NonNegative(ptr.Deref(spec.ActiveDeadlineSeconds, 0), path.Child("activeDeadlineSeconds")),
		number(spec.BackoffLimit, "backoffLimit"), number(spec.TTLSecondsAfterFinished, "ttlSecondsAfterFinished"),
		number(spec.BackoffLimitPerIndex, "backoffLimitPerIndex"), number(spec.MaxFailedIndexes, "maxFailedIndexes"),
		rules.When(spec.MaxFailedIndexes != nil && spec.BackoffLimitPerIndex == nil,
			field.Required(path.Child("backoffLimitPerIndex"), "when maxFailedIndexes is specified")),
	)
}

func checkMode(spec *batchv1.JobSpec, path *field.Path) field.ErrorList {
	failed, perIndex := path.Child("maxFailedIndexes"), path.Child("backoffLimitPerIndex")
	switch ptr.Deref(spec.CompletionMode, batchv1.NonIndexedCompletion) {
	case batchv1.IndexedCompletion:
		completions, most := ptr.Deref(spec.Completions, 0), ptr.Deref(spec.MaxFailedIndexes, 0)
		return slices.Concat(
			rules.When(spec.Completions == nil, field.Required(path.Child("completions"), "when completion mode is Indexed")),
			rules.When(ptr.Deref(spec.Parallelism, 0) > maxIndexed, field.Invalid(path.Child("parallelism"), spec.Parallelism,
				fmt.Sprintf("must be less than or equal to %d when completion mode is Indexed", maxIndexed))),
			rules.When(spec.Completions != nil && most > completions,
				field.Invalid(failed, most, "must be less than or equal to completions")),
			rules.When(most > maxIndexed,
				field.Invalid(failed, most, fmt.Sprintf("must be less than or equal to %d", maxIndexed))),
		)
	case batchv1.NonIndexedCompletion:
		return slices.Concat(
			rules.When(spec.BackoffLimitPerIndex != nil,
				field.Invalid(perIndex, spec.BackoffLimitPerIndex, "requires indexed completion mode")),
			rules.When(spec.MaxFailedIndexes != nil,
				field.Invalid(failed, spec.MaxFailedIndexes, "requires indexed completion mode")),
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
