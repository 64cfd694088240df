package batch

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/rules"
)

var statusPath = field.NewPath("status")

// jobStatus checks the rules that controllers of jobs meet. docs/builtin.md names those that are not checked.
var jobStatus = resource.StatusRules(func(job, old *batchv1.Job) field.ErrorList {
	return slices.Concat(
		rules.NonNegatives(&job.Status, statusPath, "active", "succeeded", "failed", "ready", "terminating"),
		checkConditions(&job.Status, &old.Status),
		checkFinished(job, &old.Status),
		checkIndexes(job, &old.Status),
		checkChanges(job, &old.Status),
	)
})

// isTrue reports whether a condition is true.
func isTrue(s *batchv1.JobStatus, name batchv1.JobConditionType) bool {
	return slices.ContainsFunc(s.Conditions, func(condition batchv1.JobCondition) bool {
		return condition.Type == name && condition.Status == corev1.ConditionTrue
	})
}

// isFinished reports whether a job has ended.
func isFinished(s *batchv1.JobStatus) bool {
	return isTrue(s, batchv1.JobComplete) || isTrue(s, batchv1.JobFailed)
}

func invalidConditions(message string) *field.Error {
	return field.Invalid(statusPath.Child("conditions"), field.OmitValueType{}, message)
}

// checkConditions checks conditions that exclude or require others, and the times of the job. Only what the update
// changes is checked, so that a status of an older version can still be written.
func checkConditions(s, old *batchv1.JobStatus) field.ErrorList {
	// changed reports whether an update changes one of some conditions.
	changed := func(names ...batchv1.JobConditionType) bool {
		return slices.ContainsFunc(names, func(name batchv1.JobConditionType) bool {
			return isTrue(s, name) != isTrue(old, name)
		})
	}
	complete, failed := isTrue(s, batchv1.JobComplete), isTrue(s, batchv1.JobFailed)
	target, met := isTrue(s, batchv1.JobFailureTarget), isTrue(s, batchv1.JobSuccessCriteriaMet)
	end := statusPath.Child("completionTime")
	ends := changed(batchv1.JobComplete) || !ptr.Equal(s.CompletionTime, old.CompletionTime)
	return slices.Concat(
		rules.When(complete && failed && changed(batchv1.JobComplete, batchv1.JobFailed),
			invalidConditions("cannot set Complete=True and Failed=true conditions")),
		rules.When(complete && target && changed(batchv1.JobComplete, batchv1.JobFailureTarget),
			invalidConditions("cannot set Complete=True and FailureTarget=true conditions")),
		rules.Invalid(ends && s.CompletionTime != nil && !complete, end, s.CompletionTime,
			"cannot set completionTime when there is no Complete=True condition"),
		rules.Missing(ends && s.CompletionTime == nil && complete, end, "completionTime is required for Complete jobs"),
		rules.When(failed && !target && changed(batchv1.JobFailed),
			invalidConditions("cannot set Failed=True condition without the FailureTarget=true condition")),
		rules.When(complete && !met && changed(batchv1.JobComplete, batchv1.JobSuccessCriteriaMet),
			invalidConditions("cannot set Complete=True condition without the SuccessCriteriaMet=true condition")),
	)
}

// checkFinished checks that a job that ends has started, and has no pods left.
func checkFinished(job *batchv1.Job, old *batchv1.JobStatus) field.ErrorList {
	s, spec := &job.Status, &job.Spec
	if !isFinished(s) || isFinished(old) {
		return nil
	}
	nothingToDo := ptr.Deref(spec.Suspend, false) && ptr.Equal(spec.Completions, ptr.To[int32](0))
	return slices.Concat(
		rules.Invalid(s.Active > 0, statusPath.Child("active"), s.Active, "active>0 is invalid for finished job"),
		rules.Missing(s.StartTime == nil && !nothingToDo, statusPath.Child("startTime"),
			"startTime is required for finished job"),
	)
}

// checkIndexes checks the indexes that have been completed.
func checkIndexes(job *batchv1.Job, old *batchv1.JobStatus) field.ErrorList {
	text := job.Status.CompletedIndexes
	if text == old.CompletedIndexes || job.Spec.Completions == nil {
		return nil
	}
	_, err := countIndexes(text, *job.Spec.Completions)
	return rules.Invalid(err != nil, statusPath.Child("completedIndexes"), text,
		fmt.Sprintf("error parsing completedIndexes: %s", err))
}

// checkChanges checks what must not change.
func checkChanges(job *batchv1.Job, old *batchv1.JobStatus) (errs field.ErrorList) {
	s := &job.Status
	for _, name := range []batchv1.JobConditionType{batchv1.JobFailed, batchv1.JobComplete, batchv1.JobFailureTarget} {
		errs = append(errs, rules.When(isTrue(old, name) && !isTrue(s, name),
			invalidConditions(fmt.Sprintf("cannot disable the terminal %s=True condition", name)))...)
	}
	elastic := isIndexed(&job.Spec) && ptr.Equal(job.Spec.Completions, job.Spec.Parallelism)
	return slices.Concat(errs,
		rules.Invalid(s.Failed < old.Failed, statusPath.Child("failed"), s.Failed, "cannot decrease the failed counter"),
		rules.Invalid(s.Succeeded < old.Succeeded && !elastic, statusPath.Child("succeeded"), s.Succeeded,
			"cannot decrease the succeeded counter"),
		rules.When(s.CompletionTime != nil && old.CompletionTime != nil && !ptr.Equal(s.CompletionTime, old.CompletionTime),
			field.Invalid(statusPath.Child("completionTime"), s.CompletionTime, "field is immutable")),
		rules.When(isTrue(old, batchv1.JobSuccessCriteriaMet) && !isTrue(s, batchv1.JobSuccessCriteriaMet),
			invalidConditions("cannot disable the SuccessCriteriaMet=True condition")),
	)
}
