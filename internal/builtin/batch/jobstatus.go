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
var jobStatus = resource.Typed[*batchv1.Job]{
	PrepareUpdate: resource.KeepSpec[*batchv1.Job],
	CheckUpdate: func(job, old *batchv1.Job) field.ErrorList {
		return slices.Concat(
			resource.CheckMetadataUpdate(&job.ObjectMeta, &old.ObjectMeta),
			checkCounts(&job.Status),
			checkConditions(&job.Status, &old.Status),
			checkFinished(job, &old.Status),
			checkIndexes(job, &old.Status),
			checkChanges(job, &old.Status),
		)
	},
}

// isTrue reports whether a condition is true.
func isTrue(s *batchv1.JobStatus, name batchv1.JobConditionType) bool {
	return hasCondition(s, name, corev1.ConditionTrue)
}

func hasCondition(s *batchv1.JobStatus, name batchv1.JobConditionType, status corev1.ConditionStatus) bool {
	return slices.ContainsFunc(s.Conditions, func(condition batchv1.JobCondition) bool {
		return condition.Type == name && condition.Status == status
	})
}

// isFinished reports whether a job has ended.
func isFinished(s *batchv1.JobStatus) bool {
	return isTrue(s, batchv1.JobComplete) || isTrue(s, batchv1.JobFailed)
}

func checkCounts(s *batchv1.JobStatus) field.ErrorList {
	return slices.Concat(
		rules.NonNegative(s.Active, statusPath.Child("active")),
		rules.NonNegative(s.Succeeded, statusPath.Child("succeeded")),
		rules.NonNegative(s.Failed, statusPath.Child("failed")),
		rules.NonNegative(ptr.Deref(s.Ready, 0), statusPath.Child("ready")),
		rules.NonNegative(ptr.Deref(s.Terminating, 0), statusPath.Child("terminating")),
	)
}

func invalidConditions(message string) *field.Error {
	return field.Invalid(statusPath.Child("conditions"), field.OmitValueType{}, message)
}

// checkConditions checks conditions that exclude or require others, and the times of the job. Only what the update
// changes is checked, so that a status of an older version can still be written.
func checkConditions(s, old *batchv1.JobStatus) (errs field.ErrorList) {
	changed := func(name batchv1.JobConditionType) bool { return isTrue(s, name) != isTrue(old, name) }
	complete, failed := isTrue(s, batchv1.JobComplete), isTrue(s, batchv1.JobFailed)
	target, met := isTrue(s, batchv1.JobFailureTarget), isTrue(s, batchv1.JobSuccessCriteriaMet)
	end, endChanged := statusPath.Child("completionTime"), !ptr.Equal(s.CompletionTime, old.CompletionTime)
	errs = slices.Concat(
		rules.When(complete && failed && (changed(batchv1.JobComplete) || changed(batchv1.JobFailed)),
			invalidConditions("cannot set Complete=True and Failed=true conditions")),
		rules.When(complete && target && (changed(batchv1.JobComplete) || changed(batchv1.JobFailureTarget)),
			invalidConditions("cannot set Complete=True and FailureTarget=true conditions")),
	)
	if changed(batchv1.JobComplete) || endChanged {
		errs = append(errs, slices.Concat(
			rules.When(s.CompletionTime != nil && !complete, field.Invalid(end, s.CompletionTime,
				"cannot set completionTime when there is no Complete=True condition")),
			rules.When(s.CompletionTime == nil && complete,
				field.Required(end, "completionTime is required for Complete jobs")),
		)...)
	}
	return slices.Concat(errs,
		rules.When(failed && !target && changed(batchv1.JobFailed),
			invalidConditions("cannot set Failed=True condition without the FailureTarget=true condition")),
		rules.When(complete && !met && (changed(batchv1.JobComplete) || changed(batchv1.JobSuccessCriteriaMet)),
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
		rules.When(s.Active > 0,
			field.Invalid(statusPath.Child("active"), s.Active, "active>0 is invalid for finished job")),
		rules.When(s.StartTime == nil && !nothingToDo,
			field.Required(statusPath.Child("startTime"), "startTime is required for finished job")),
	)
}

// checkIndexes checks the indexes that have been completed.
func checkIndexes(job *batchv1.Job, old *batchv1.JobStatus) field.ErrorList {
	text, path := job.Status.CompletedIndexes, statusPath.Child("completedIndexes")
	if text == old.CompletedIndexes || job.Spec.Completions == nil {
		return nil
	}
	_, err := countIndexes(text, *job.Spec.Completions)
	if err == nil {
		return nil
	}
	return field.ErrorList{field.Invalid(path, text, fmt.Sprintf("error parsing completedIndexes: %s", err))}
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
		rules.When(s.Failed < old.Failed,
			field.Invalid(statusPath.Child("failed"), s.Failed, "cannot decrease the failed counter")),
		rules.When(s.Succeeded < old.Succeeded && !elastic,
			field.Invalid(statusPath.Child("succeeded"), s.Succeeded, "cannot decrease the succeeded counter")),
		rules.When(s.CompletionTime != nil && old.CompletionTime != nil && !ptr.Equal(s.CompletionTime, old.CompletionTime),
			field.Invalid(statusPath.Child("completionTime"), s.CompletionTime, "field is immutable")),
		rules.When(isTrue(old, batchv1.JobSuccessCriteriaMet) && !isTrue(s, batchv1.JobSuccessCriteriaMet),
			invalidConditions("cannot disable the SuccessCriteriaMet=True condition")),
	)
}
