package batch

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/podspec"
)

// The limits of indexed jobs, whose status names indexes.
const (
	maxIndexed       = 100_000
	manyCompletions  = 100_000
	maxManyParallel  = 10_000
	maxManyFailed    = 10_000
	maxManagedByName = 63
)

func isIndexed(spec *batchv1.JobSpec) bool {
	return ptr.Deref(spec.CompletionMode, batchv1.NonIndexedCompletion) == batchv1.IndexedCompletion
}

// checkSpec checks what Jobs and templates of Jobs have.
func checkSpec(spec *batchv1.JobSpec, path *field.Path) field.ErrorList {
	errs := checkNumbers(spec, path)
	if name := spec.ManagedBy; name != nil {
		errs = append(errs, validation.IsDomainPrefixedPath(path.Child("managedBy"), *name)...)
		if len(*name) > maxManagedByName {
			errs = append(errs, field.TooLong(path.Child("managedBy"), "", maxManagedByName))
		}
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
	errs = append(errs, checkReplacement(spec, path.Child("podReplacementPolicy"))...)
	errs = append(errs, podspec.CheckTemplate(&spec.Template, path.Child("template"))...)
	return append(errs, checkRestart(spec, path.Child("template", "spec", "restartPolicy"))...)
}

func checkNumbers(spec *batchv1.JobSpec, path *field.Path) (errs field.ErrorList) {
	for _, number := range []struct {
		name  string
		value *int32
	}{
		{"parallelism", spec.Parallelism}, {"completions", spec.Completions}, {"", nil},
		{"backoffLimit", spec.BackoffLimit}, {"ttlSecondsAfterFinished", spec.TTLSecondsAfterFinished},
		{"backoffLimitPerIndex", spec.BackoffLimitPerIndex}, {"maxFailedIndexes", spec.MaxFailedIndexes},
	} {
		if number.name == "" && spec.ActiveDeadlineSeconds != nil { // the only one that is longer
			errs = append(errs, apivalidation.ValidateNonnegativeField(
				*spec.ActiveDeadlineSeconds, path.Child("activeDeadlineSeconds"))...)
		}
		if number.value != nil {
			errs = append(errs, apivalidation.ValidateNonnegativeField(int64(*number.value), path.Child(number.name))...)
		}
	}
	if spec.MaxFailedIndexes != nil && spec.BackoffLimitPerIndex == nil {
		errs = append(errs, field.Required(path.Child("backoffLimitPerIndex"), "when maxFailedIndexes is specified"))
	}
	return errs
}

func checkMode(spec *batchv1.JobSpec, path *field.Path) (errs field.ErrorList) {
	switch ptr.Deref(spec.CompletionMode, batchv1.NonIndexedCompletion) {
	case batchv1.IndexedCompletion:
		return checkIndexed(spec, path)
	case batchv1.NonIndexedCompletion:
		if limit := spec.BackoffLimitPerIndex; limit != nil {
			errs = append(errs, field.Invalid(path.Child("backoffLimitPerIndex"), *limit, "requires indexed completion mode"))
		}
		if limit := spec.MaxFailedIndexes; limit != nil {
			errs = append(errs, field.Invalid(path.Child("maxFailedIndexes"), *limit, "requires indexed completion mode"))
		}
		return errs
	}
	return field.ErrorList{field.NotSupported(path.Child("completionMode"), *spec.CompletionMode,
		[]batchv1.CompletionMode{batchv1.NonIndexedCompletion, batchv1.IndexedCompletion})}
}

func checkIndexed(spec *batchv1.JobSpec, path *field.Path) (errs field.ErrorList) {
	parallel, failed := path.Child("parallelism"), path.Child("maxFailedIndexes")
	if spec.Completions == nil {
		errs = append(errs, field.Required(path.Child("completions"), "when completion mode is Indexed"))
	}
	if ptr.Deref(spec.Parallelism, 0) > maxIndexed {
		errs = append(errs, field.Invalid(parallel, *spec.Parallelism,
			fmt.Sprintf("must be less than or equal to %d when completion mode is Indexed", maxIndexed)))
	}
	if spec.Completions != nil && ptr.Deref(spec.MaxFailedIndexes, 0) > *spec.Completions {
		errs = append(errs, field.Invalid(failed, *spec.MaxFailedIndexes, "must be less than or equal to completions"))
	}
	if ptr.Deref(spec.MaxFailedIndexes, 0) > maxIndexed {
		errs = append(errs, field.Invalid(failed, *spec.MaxFailedIndexes,
			fmt.Sprintf("must be less than or equal to %d", maxIndexed)))
	}
	if ptr.Deref(spec.Completions, 0) <= manyCompletions || spec.BackoffLimitPerIndex == nil {
		return errs
	}
	const format = "must be less than or equal to %d when completions are above %d and used with backoff limit per index"
	if spec.MaxFailedIndexes == nil {
		errs = append(errs, field.Required(failed,
			fmt.Sprintf("must be specified when completions is above %d", manyCompletions)))
	}
	if ptr.Deref(spec.Parallelism, 0) > maxManyParallel {
		errs = append(errs, field.Invalid(parallel, *spec.Parallelism, fmt.Sprintf(format, maxManyParallel, manyCompletions)))
	}
	if ptr.Deref(spec.MaxFailedIndexes, 0) > maxManyFailed {
		errs = append(errs,
			field.Invalid(failed, *spec.MaxFailedIndexes, fmt.Sprintf(format, maxManyFailed, manyCompletions)))
	}
	return errs
}

func checkReplacement(spec *batchv1.JobSpec, path *field.Path) field.ErrorList {
	policy := ptr.Deref(spec.PodReplacementPolicy, batchv1.Failed)
	switch {
	case policy == batchv1.Failed, policy == batchv1.TerminatingOrFailed && spec.PodFailurePolicy == nil:
		return nil
	case spec.PodFailurePolicy != nil:
		return field.ErrorList{field.NotSupported(path, policy, []batchv1.PodReplacementPolicy{batchv1.Failed})}
	}
	return field.ErrorList{field.NotSupported(path, policy,
		[]batchv1.PodReplacementPolicy{batchv1.Failed, batchv1.TerminatingOrFailed})}
}

// checkRestart checks that the pods of a job end.
func checkRestart(spec *batchv1.JobSpec, path *field.Path) field.ErrorList {
	switch policy := spec.Template.Spec.RestartPolicy; {
	case policy == corev1.RestartPolicyAlways || policy == "":
		return field.ErrorList{field.Required(path,
			fmt.Sprintf("valid values: %q, %q", corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever))}
	case policy != corev1.RestartPolicyOnFailure && policy != corev1.RestartPolicyNever:
		return field.ErrorList{field.NotSupported(path, policy,
			[]corev1.RestartPolicy{corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever})}
	case policy != corev1.RestartPolicyNever && spec.PodFailurePolicy != nil:
		return field.ErrorList{field.Invalid(path, policy,
			fmt.Sprintf("only %q is supported when podFailurePolicy is specified", corev1.RestartPolicyNever))}
	}
	return nil
}

func specWarnings(spec *batchv1.JobSpec, path *field.Path) (warnings []string) {
	if isIndexed(spec) && ptr.Deref(spec.Completions, 0) > manyCompletions &&
		ptr.Deref(spec.Parallelism, 0) > maxManyParallel {
		warnings = append(warnings, fmt.Sprintf("%s: In Indexed Jobs with a number of completions higher than 10^5 and a "+
			"parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of "+
			"indexes fail", path))
	}
	return append(warnings, podspec.TemplateWarnings(&spec.Template, path.Child("template"))...)
}
