package batch

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/podspec"
	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/rules"
)

var jobTemplatePath = specPath.Child("jobTemplate", "spec")

var cronStrategy = podspec.WithWarnings(resource.Typed[*batchv1.CronJob]{
	Name: apivalidation.NameIsDNSSubdomain, Prepare: resource.Begin[*batchv1.CronJob],
	Check: func(c *batchv1.CronJob) field.ErrorList {
		return append(checkCron(&c.Spec, nil), rules.Invalid(len(c.Name) > maxCronName, field.NewPath("metadata", "name"),
			c.Name, "must be no more than 52 characters")...)
	},
	PrepareUpdate: resource.Follow[*batchv1.CronJob],
	CheckUpdate:   func(c, old *batchv1.CronJob) field.ErrorList { return checkCron(&c.Spec, &old.Spec) },
}, jobTemplatePath.Child("template"), func(c *batchv1.CronJob) *corev1.PodTemplateSpec {
	return &c.Spec.JobTemplate.Spec.Template
})

var cronStatus = resource.Typed[*batchv1.CronJob]{PrepareUpdate: resource.KeepSpec[*batchv1.CronJob]}

// maxCronName leaves room for the time that is added to the names of Jobs.
const maxCronName = 52

func defaultCronJob(obj runtime.Object) {
	spec := &obj.(*batchv1.CronJob).Spec
	resource.DefaultValue(&spec.ConcurrencyPolicy, batchv1.AllowConcurrent)
	resource.Default(&spec.Suspend, false)
	resource.Default(&spec.SuccessfulJobsHistoryLimit, 3)
	resource.Default(&spec.FailedJobsHistoryLimit, 1)
	defaultSpec(&spec.JobTemplate.Spec)
}

// checkCron checks a specification; old is that of the stored object, or nil.
func checkCron(spec, old *batchv1.CronJobSpec) field.ErrorList {
	errs := append(checkSchedule(spec, old != nil && strings.Contains(old.Schedule, "TZ"), specPath.Child("schedule")),
		rules.NonNegatives(spec, specPath, "startingDeadlineSeconds")...)
	if zone := spec.TimeZone; zone != nil && (old == nil || !ptr.Equal(old.TimeZone, zone)) {
		errs = append(errs, checkTimeZone(*zone, specPath.Child("timeZone"))...)
	}
	job := &spec.JobTemplate.Spec
	return slices.Concat(errs,
		rules.Known(spec.ConcurrencyPolicy, specPath.Child("concurrencyPolicy"),
			batchv1.AllowConcurrent, batchv1.ForbidConcurrent, batchv1.ReplaceConcurrent),
		checkSpec(job, jobTemplatePath),
		rules.Invalid(job.Selector != nil, jobTemplatePath.Child("selector"), job.Selector,
			"`selector` will be auto-generated"),
		rules.When(ptr.Deref(job.ManualSelector, false),
			field.NotSupported(jobTemplatePath.Child("manualSelector"), job.ManualSelector, []string{"nil", "false"})),
		rules.NonNegatives(spec, specPath, "successfulJobsHistoryLimit", "failedJobsHistoryLimit"),
	)
}

// checkSchedule checks a schedule. Only one that had a time zone before may have one.
func checkSchedule(spec *batchv1.CronJobSpec, hadZone bool, path *field.Path) (errs field.ErrorList) {
	if spec.Schedule == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	if err := parseSchedule(spec.Schedule); err != nil {
		errs = append(errs, field.Invalid(path, spec.Schedule, err.Error()))
	}
	return append(errs, rules.Invalid(strings.Contains(spec.Schedule, "TZ") && !hadZone, path, spec.Schedule,
		"cannot use TZ or CRON_TZ in schedule, use timeZone field instead")...)
}

// parseSchedule returns the error of a schedule. The library panics on some, such as "TZ=0".
func parseSchedule(schedule string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("invalid schedule format: %v", r)
		}
	}()
	_, err = cron.ParseStandard(schedule)
	return err
}

// zonePart is a part of the name of a time zone, such as Europe in Europe/Berlin.
var zonePart = regexp.MustCompile(`^[A-Za-z._0-9+-]{1,14}$`)

func checkTimeZone(zone string, path *field.Path) (errs field.ErrorList) {
	if zone == "" {
		return field.ErrorList{field.Invalid(path, zone, "timeZone must be nil or non-empty string")}
	}
	for part := range strings.SplitSeq(zone, "/") {
		if part == "." || part == ".." || strings.HasPrefix(part, "-") || !zonePart.MatchString(part) {
			return field.ErrorList{field.Invalid(path, zone, "unknown time zone "+zone)}
		}
	}
	errs = rules.Invalid(strings.EqualFold(zone, "Local"), path, zone,
		"timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones")
	if _, err := time.LoadLocation(zone); err != nil {
		errs = append(errs, field.Invalid(path, zone, err.Error()))
	}
	return errs
}
