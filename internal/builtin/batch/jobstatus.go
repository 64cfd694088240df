package batch

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

var statusPath = field.NewPath("status")

var jobStatus = resource.Typed[*batchv1.Job]{
	PrepareUpdate: func(job, old *batchv1.Job) { job.Spec = old.Spec },
	CheckUpdate: func(job, old *batchv1.Job) field.ErrorList {
		u := newStatusUpdate(job, old)
		errs := resource.CheckMetadataUpdate(&job.ObjectMeta, &old.ObjectMeta)
		errs = append(errs, checkCounts(&job.Status)...)
		errs = append(errs, u.checkConditions()...)
		errs = append(errs, u.checkFinished()...)
		errs = append(errs, u.checkIndexes()...)
		errs = append(errs, u.checkSuccess()...)
		return append(errs, u.checkChanges()...)
	},
}

// statusUpdate is an update of the status of a job. Only what it changes is checked, so that a status of an older
// version can still be written.
type statusUpdate struct {
	job, old *batchv1.Job
	// The conditions of the new status.
	complete, failed, finished, failureTarget, successCriteriaMet bool
	// What the update changes.
	completeChanged, failedChanged, finishedChanged bool
	completedIndexesChanged, failedIndexesChanged   bool
	activeChanged, startChanged, endChanged         bool
}

func newStatusUpdate(job, old *batchv1.Job) *statusUpdate {
	now, before := &job.Status, &old.Status
	u := &statusUpdate{job: job, old: old}
	u.complete, u.failed = isTrue(now.Conditions, batchv1.JobComplete), isTrue(now.Conditions, batchv1.JobFailed)
	u.finished = u.complete || u.failed
	u.failureTarget = isTrue(now.Conditions, batchv1.JobFailureTarget)
	u.successCriteriaMet = isTrue(now.Conditions, batchv1.JobSuccessCriteriaMet)
	wasComplete, wasFailed := isTrue(before.Conditions, batchv1.JobComplete), isTrue(before.Conditions, batchv1.JobFailed)
	u.completeChanged, u.failedChanged = wasComplete != u.complete, wasFailed != u.failed
	u.finishedChanged = (wasComplete || wasFailed) != u.finished
	u.completedIndexesChanged = now.CompletedIndexes != before.CompletedIndexes
	u.failedIndexesChanged = !ptr.Equal(now.FailedIndexes, before.FailedIndexes)
	u.activeChanged = now.Active != before.Active
	u.startChanged = !ptr.Equal(now.StartTime, before.StartTime)
	u.endChanged = !ptr.Equal(now.CompletionTime, before.CompletionTime)
	return u
}

// isTrue reports whether a condition is true.
func isTrue(conditions []batchv1.JobCondition, name batchv1.JobConditionType) bool {
	return hasCondition(conditions, name, corev1.ConditionTrue)
}

func hasCondition(
	conditions []batchv1.JobCondition, name batchv1.JobConditionType, status corev1.ConditionStatus,
) bool {
	for n := range conditions {
		if conditions[n].Type == name && conditions[n].Status == status {
			return true
		}
	}
	return false
}

func checkCounts(s *batchv1.JobStatus) (errs field.ErrorList) {
	for _, count := range []struct {
		name  string
		value int32
	}{
		{"active", s.Active}, {"succeeded", s.Succeeded}, {"failed", s.Failed},
		{"ready", ptr.Deref(s.Ready, 0)}, {"terminating", ptr.Deref(s.Terminating, 0)},
	} {
		errs = append(errs, apivalidation.ValidateNonnegativeField(int64(count.value), statusPath.Child(count.name))...)
	}
	if s.UncountedTerminatedPods == nil {
		return errs
	}
	seen, path := sets.New[types.UID](), statusPath.Child("uncountedTerminatedPods")
	errs = append(errs, checkPods(s.UncountedTerminatedPods.Succeeded, path.Child("succeeded"), seen)...)
	return append(errs, checkPods(s.UncountedTerminatedPods.Failed, path.Child("failed"), seen)...)
}

func checkPods(uids []types.UID, path *field.Path, seen sets.Set[types.UID]) (errs field.ErrorList) {
	for n, uid := range uids {
		switch {
		case uid == "":
			errs = append(errs, field.Invalid(path.Index(n), uid, "must not be empty"))
		case seen.Has(uid):
			errs = append(errs, field.Duplicate(path.Index(n), uid))
		}
		seen.Insert(uid)
	}
	return errs
}

func invalidConditions(message string) *field.Error {
	return field.Invalid(statusPath.Child("conditions"), field.OmitValueType{}, message)
}

// checkConditions checks conditions that exclude or require others, and the times of the job.
func (u *statusUpdate) checkConditions() (errs field.ErrorList) {
	s, end := &u.job.Status, statusPath.Child("completionTime")
	if u.complete && u.failed && (u.completeChanged || u.failedChanged) {
		errs = append(errs, invalidConditions("cannot set Complete=True and Failed=true conditions"))
	}
	targetChanged := isTrue(u.old.Status.Conditions, batchv1.JobFailureTarget) != u.failureTarget
	if u.complete && u.failureTarget && (u.completeChanged || targetChanged) {
		errs = append(errs, invalidConditions("cannot set Complete=True and FailureTarget=true conditions"))
	}
	if u.completeChanged || u.endChanged {
		switch {
		case s.CompletionTime != nil && !u.complete:
			errs = append(errs, field.Invalid(end, s.CompletionTime,
				"cannot set completionTime when there is no Complete=True condition"))
		case s.CompletionTime == nil && u.complete:
			errs = append(errs, field.Required(end, "completionTime is required for Complete jobs"))
		}
	}
	if (u.startChanged || u.endChanged) && s.CompletionTime != nil && s.StartTime != nil &&
		s.CompletionTime.Before(s.StartTime) {
		errs = append(errs, field.Invalid(end, s.CompletionTime, "must be equal to or after `startTime`"))
	}
	if u.failed && !u.failureTarget && (u.failedChanged || u.failedIndexesChanged) {
		errs = append(errs, invalidConditions("cannot set Failed=True condition without the FailureTarget=true condition"))
	}
	criteriaChanged := isTrue(u.old.Status.Conditions, batchv1.JobSuccessCriteriaMet) != u.successCriteriaMet
	if u.complete && !u.successCriteriaMet && (u.completeChanged || criteriaChanged) {
		errs = append(errs,
			invalidConditions("cannot set Complete=True condition without the SuccessCriteriaMet=true condition"))
	}
	return errs
}

// checkFinished checks that a job that has ended has started, and has no pods left.
func (u *statusUpdate) checkFinished() (errs field.ErrorList) {
	s, spec := &u.job.Status, &u.job.Spec
	if !u.finished {
		return nil
	}
	if s.Active > 0 && (u.finishedChanged || u.activeChanged) {
		errs = append(errs, field.Invalid(statusPath.Child("active"), s.Active, "active>0 is invalid for finished job"))
	}
	nothingToDo := ptr.Deref(spec.Suspend, false) && ptr.Equal(spec.Completions, ptr.To[int32](0))
	if s.StartTime == nil && (u.finishedChanged || u.startChanged) && !nothingToDo {
		errs = append(errs, field.Required(statusPath.Child("startTime"), "startTime is required for finished job"))
	}
	uncounted := s.UncountedTerminatedPods
	changed := u.finishedChanged || !equality.Semantic.DeepEqual(u.old.Status.UncountedTerminatedPods, uncounted)
	if changed && uncounted != nil && len(uncounted.Failed)+len(uncounted.Succeeded) > 0 {
		errs = append(errs,
			field.Invalid(statusPath.Child("uncountedTerminatedPods"), uncounted, "must be empty for finished job"))
	}
	return errs
}

// checkIndexes checks the indexes that have ended.
func (u *statusUpdate) checkIndexes() (errs field.ErrorList) {
	s, spec := &u.job.Status, &u.job.Spec
	completedPath, failedPath := statusPath.Child("completedIndexes"), statusPath.Child("failedIndexes")
	if u.completedIndexesChanged && spec.Completions != nil {
		if _, err := parseIndexes(s.CompletedIndexes, *spec.Completions); err != nil {
			errs = append(errs, field.Invalid(completedPath, s.CompletedIndexes,
				fmt.Sprintf("error parsing completedIndexes: %s", err)))
		}
	}
	if u.failedIndexesChanged && spec.Completions != nil && spec.BackoffLimitPerIndex != nil && s.FailedIndexes != nil {
		if _, err := parseIndexes(*s.FailedIndexes, *spec.Completions); err != nil {
			errs = append(errs, field.Invalid(failedPath, s.FailedIndexes, fmt.Sprintf("error parsing failedIndexes: %s", err)))
		}
	}
	if u.completedIndexesChanged && s.CompletedIndexes != "" && !isIndexed(spec) {
		errs = append(errs, field.Invalid(completedPath, s.CompletedIndexes,
			"cannot set non-empty completedIndexes when non-indexed completion mode"))
	}
	if u.failedIndexesChanged && s.FailedIndexes != nil && spec.BackoffLimitPerIndex == nil {
		errs = append(errs, field.Invalid(failedPath, *s.FailedIndexes,
			"cannot set non-null failedIndexes when backoffLimitPerIndex is null"))
	}
	if !u.completedIndexesChanged && !u.failedIndexesChanged || len(errs) > 0 || s.FailedIndexes == nil ||
		spec.Completions == nil {
		return errs
	}
	completed, _ := parseIndexes(s.CompletedIndexes, *spec.Completions) // an invalid old value overlaps nothing
	failed, _ := parseIndexes(*s.FailedIndexes, *spec.Completions)
	if index, found := overlap(completed, failed); found {
		errs = append(errs, field.Invalid(failedPath, *s.FailedIndexes,
			fmt.Sprintf("failedIndexes and completedIndexes overlap at index: %d", index)))
	}
	return errs
}

// checkSuccess checks the rest of a status by itself.
func (u *statusUpdate) checkSuccess() (errs field.ErrorList) {
	s, before := &u.job.Status, &u.old.Status
	terminatingChanged := !ptr.Equal(s.Terminating, before.Terminating)
	if u.finished && ptr.Deref(s.Terminating, 0) > 0 && (u.finishedChanged || terminatingChanged) {
		errs = append(errs,
			field.Invalid(statusPath.Child("terminating"), s.Terminating, "terminating>0 is invalid for finished job"))
	}
	if s.Ready != nil && *s.Ready > s.Active && (u.activeChanged || !ptr.Equal(s.Ready, before.Ready)) {
		errs = append(errs, field.Invalid(statusPath.Child("ready"), *s.Ready, "cannot set more ready pods than active"))
	}
	if u.successCriteriaMet && u.failed {
		errs = append(errs, invalidConditions("cannot set SuccessCriteriaMet=True and Failed=true conditions"))
	}
	if u.successCriteriaMet && u.failureTarget {
		errs = append(errs, invalidConditions("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions"))
	}
	if u.job.Spec.SuccessPolicy != nil && !u.successCriteriaMet && u.complete {
		errs = append(errs,
			invalidConditions("cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True"))
	}
	return errs
}

// checkChanges checks what must not change.
func (u *statusUpdate) checkChanges() (errs field.ErrorList) {
	s, before, spec := &u.job.Status, &u.old.Status, &u.job.Spec
	for _, name := range []batchv1.JobConditionType{batchv1.JobFailed, batchv1.JobComplete, batchv1.JobFailureTarget} {
		if isTrue(before.Conditions, name) && !isTrue(s.Conditions, name) {
			errs = append(errs, invalidConditions(fmt.Sprintf("cannot disable the terminal %s=True condition", name)))
		}
	}
	if s.Failed < before.Failed {
		errs = append(errs, field.Invalid(statusPath.Child("failed"), s.Failed, "cannot decrease the failed counter"))
	}
	elastic := isIndexed(spec) && ptr.Equal(spec.Completions, spec.Parallelism)
	if s.Succeeded < before.Succeeded && !elastic {
		errs = append(errs,
			field.Invalid(statusPath.Child("succeeded"), s.Succeeded, "cannot decrease the succeeded counter"))
	}
	if s.CompletionTime != nil && before.CompletionTime != nil && u.endChanged {
		errs = append(errs, field.Invalid(statusPath.Child("completionTime"), s.CompletionTime, "field is immutable"))
	}
	resumes := isTrue(before.Conditions, batchv1.JobSuspended) &&
		hasCondition(s.Conditions, batchv1.JobSuspended, corev1.ConditionFalse)
	if before.StartTime != nil && u.startChanged && !resumes && !ptr.Deref(spec.Suspend, false) {
		errs = append(errs, field.Invalid(statusPath.Child("startTime"), s.StartTime,
			"field is immutable for unsuspended job once set"))
	}
	metBefore := isTrue(before.Conditions, batchv1.JobSuccessCriteriaMet)
	if metBefore && !u.successCriteriaMet {
		errs = append(errs, invalidConditions("cannot disable the SuccessCriteriaMet=True condition"))
	}
	if isTrue(before.Conditions, batchv1.JobComplete) && !metBefore && u.successCriteriaMet {
		errs = append(errs, invalidConditions(
			"cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"))
	}
	return errs
}
