package batch

import (
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta/table"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/podspec"
	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// wideColumns are the columns of the containers and the selector of a job.
var wideColumns = append(podspec.ContainerColumns(1), metav1.TableColumnDefinition{
	Name: "Selector", Type: "string", Priority: 1, Description: batchv1.JobSpec{}.SwaggerDoc()["selector"],
})

func wideCells(spec *batchv1.JobSpec) []any {
	return append(podspec.ContainerCells(&spec.Template.Spec), metav1.FormatLabelSelector(spec.Selector))
}

var jobColumns = &resource.Columns{
	Definitions: slices.Concat([]metav1.TableColumnDefinition{
		resource.NameColumn,
		{Name: "Status", Type: "string", Description: "Status of the job."},
		{Name: "Completions", Type: "string", Description: batchv1.JobStatus{}.SwaggerDoc()["succeeded"]},
		{Name: "Duration", Type: "string", Description: "Time required to complete the job."},
		resource.AgeColumn,
	}, wideColumns),
	Cells: func(obj runtime.Object) []any {
		job := obj.(*batchv1.Job)
		cells := []any{job.Name, jobState(job), completionsCell(job), durationCell(&job.Status), resource.Age(job)}
		return append(cells, wideCells(&job.Spec)...)
	},
}

func jobState(job *batchv1.Job) string {
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

func completionsCell(job *batchv1.Job) string {
	done, parallel := job.Status.Succeeded, ptr.Deref(job.Spec.Parallelism, 0)
	switch {
	case job.Spec.Completions != nil:
		return fmt.Sprintf("%d/%d", done, *job.Spec.Completions)
	case parallel > 1:
		return fmt.Sprintf("%d/1 of %d", done, parallel)
	}
	return fmt.Sprintf("%d/1", done)
}

func durationCell(s *batchv1.JobStatus) string {
	switch {
	case s.StartTime == nil:
		return ""
	case s.CompletionTime == nil:
		return duration.HumanDuration(time.Since(s.StartTime.Time))
	}
	return duration.HumanDuration(s.CompletionTime.Sub(s.StartTime.Time))
}

var cronColumns = &resource.Columns{
	Definitions: slices.Concat([]metav1.TableColumnDefinition{
		resource.NameColumn,
		{Name: "Schedule", Type: "string", Description: batchv1.CronJobSpec{}.SwaggerDoc()["schedule"]},
		{Name: "Timezone", Type: "string", Description: batchv1.CronJobSpec{}.SwaggerDoc()["timeZone"]},
		{Name: "Suspend", Type: "boolean", Description: batchv1.CronJobSpec{}.SwaggerDoc()["suspend"]},
		{Name: "Active", Type: "integer", Description: batchv1.CronJobStatus{}.SwaggerDoc()["active"]},
		{Name: "Last Schedule", Type: "string", Description: batchv1.CronJobStatus{}.SwaggerDoc()["lastScheduleTime"]},
		resource.AgeColumn,
	}, wideColumns),
	Cells: func(obj runtime.Object) []any {
		cron := obj.(*batchv1.CronJob)
		suspended, last := "<unset>", "<none>"
		if cron.Spec.Suspend != nil {
			suspended = printBool(*cron.Spec.Suspend)
		}
		if at := cron.Status.LastScheduleTime; at != nil {
			last = table.ConvertToHumanReadableDateType(*at)
		}
		cells := []any{
			cron.Name, cron.Spec.Schedule, ptr.Deref(cron.Spec.TimeZone, "<none>"), suspended,
			int64(len(cron.Status.Active)), last, resource.Age(cron),
		}
		return append(cells, wideCells(&cron.Spec.JobTemplate.Spec)...)
	},
}

func printBool(value bool) string {
	if value {
		return "True"
	}
	return "False"
}
