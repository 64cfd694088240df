package batch

import (
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/podspec"
	"github.com/crd-server/crd-server/internal/builtin/resource"
)

var jobColumns = resource.Columns[*batchv1.Job]{
	{Name: "Status", Doc: "Status of the job.", Cell: jobState},
	{Name: "Completions", Field: "status.succeeded", Cell: completionsCell},
	{Name: "Duration", Doc: "Time required to complete the job.", Cell: durationCell},
	{Name: "Age"},
	{Name: "Containers", Wide: true, Field: "spec.template.spec.containers[*].name", Doc: podspec.NamesDoc},
	{Name: "Images", Wide: true, Field: "spec.template.spec.containers[*].image", Doc: podspec.ImagesDoc},
	{Name: "Selector", Wide: true, Field: "spec.selector"},
}

func jobState(job *batchv1.Job) any {
	conditions := job.Status.Conditions
	switch {
	case firstIsTrue(conditions, batchv1.JobComplete):
		return "Complete"
	case firstIsTrue(conditions, batchv1.JobFailed):
		return "Failed"
	case job.DeletionTimestamp != nil:
		return "Terminating"
	}
	for _, name := range []batchv1.JobConditionType{
		batchv1.JobSuspended, batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet,
	} {
		if firstIsTrue(conditions, name) {
			return string(name)
		}
	}
	return "Running"
}

// firstIsTrue reports whether the first condition of a name is true.
func firstIsTrue(conditions []batchv1.JobCondition, name batchv1.JobConditionType) bool {
	n := slices.IndexFunc(conditions, func(c batchv1.JobCondition) bool { return c.Type == name })
	return n >= 0 && conditions[n].Status == "True"
}

func completionsCell(job *batchv1.Job) any {
	done, parallel := job.Status.Succeeded, ptr.Deref(job.Spec.Parallelism, 0)
	switch {
	case job.Spec.Completions != nil:
		return fmt.Sprintf("%d/%d", done, *job.Spec.Completions)
	case parallel > 1:
		return fmt.Sprintf("%d/1 of %d", done, parallel)
	}
	return fmt.Sprintf("%d/1", done)
}

func durationCell(job *batchv1.Job) any {
	s := &job.Status
	switch {
	case s.StartTime == nil:
		return ""
	case s.CompletionTime == nil:
		return duration.HumanDuration(time.Since(s.StartTime.Time))
	}
	return duration.HumanDuration(s.CompletionTime.Sub(s.StartTime.Time))
}

var cronColumns = resource.Columns[*batchv1.CronJob]{
	{Name: "Schedule", Field: "spec.schedule"},
	{Name: "Timezone", Field: "spec.timeZone", Empty: "<none>"},
	{Name: "Suspend", Type: "boolean", Field: "spec.suspend", Cell: suspendCell},
	{Name: "Active", Type: "integer", Field: "status.active"},
	{Name: "Last Schedule", Field: "status.lastScheduleTime", Empty: "<none>"},
	{Name: "Age"},
	{Name: "Containers", Wide: true, Field: "spec.jobTemplate.spec.template.spec.containers[*].name",
		Doc: podspec.NamesDoc},
	{Name: "Images", Wide: true, Field: "spec.jobTemplate.spec.template.spec.containers[*].image",
		Doc: podspec.ImagesDoc},
	{Name: "Selector", Wide: true, Field: "spec.jobTemplate.spec.selector"},
}

func suspendCell(cron *batchv1.CronJob) any {
	switch suspend := cron.Spec.Suspend; {
	case suspend == nil:
		return "<unset>"
	case *suspend:
		return "True"
	}
	return "False"
}
