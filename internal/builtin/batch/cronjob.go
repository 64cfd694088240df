package batch

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/podspec"
	"github.com/crd-server/crd-server/internal/builtin/resource"
)

var jobTemplatePath = specPath.Child("jobTemplate", "spec")

var cronStrategy = resource.Typed[*batchv1.CronJob]{
	Prepare: func(c *batchv1.CronJob) { c.Status, c.Generation = batchv1.CronJobStatus{}, 1 },
	Check: func(c *batchv1.CronJob) field.ErrorList {
		errs := resource.CheckMetadata(&c.ObjectMeta, apivalidation.NameIsDNSSubdomain)
		errs = append(errs, checkCron(&c.Spec, nil)...)
		if len(c.Name) > maxCronName {
			errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), c.Name, "must be no more than 52 characters"))
		}
		return errs
	},
	Warn: func(c *batchv1.CronJob) []string {
		return append(podspec.NameWarnings(c.Name), specWarnings(&c.Spec.JobTemplate.Spec, jobTemplatePath)...)
	},
	PrepareUpdate: func(c, old *batchv1.CronJob) {
		c.Status = old.Status
		if !equality.Semantic.DeepEqual(c.Spec, old.Spec) {
			c.Generation = old.Generation + 1
		}
	},
	CheckUpdate: func(c, old *batchv1.CronJob) field.ErrorList {
		return append(resource.CheckMetadataUpdate(&c.ObjectMeta, &old.ObjectMeta), checkCron(&c.Spec, &old.Spec)...)
	},
	WarnUpdate: warnCronUpdate,
}

var cronStatus = resource.Typed[*batchv1.CronJob]{
	PrepareUpdate: func(c, old *batchv1.CronJob) { c.Spec = old.Spec },
}

// maxCronName leaves room for the time that is added to the names of Jobs.
const maxCronName = 52

func warnCronUpdate(c, old *batchv1.CronJob) (warnings []string) {
	if c.Generation != old.Generation {
		warnings = specWarnings(&c.Spec.JobTemplate.Spec, jobTemplatePath)
	}
	if strings.Contains(c.Spec.Schedule, "TZ") {
		warnings = append(warnings, "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see "+
			"https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details")
	}
	return warnings
}

func defaultCronJob(obj runtime.Object) {
	spec := &obj.(*batchv1.CronJob).Spec
	if spec.ConcurrencyPolicy == "" {
		spec.ConcurrencyPolicy = batchv1.AllowConcurrent
	}
	resource.Default(&spec.Suspend, false)
	resource.Default(&spec.SuccessfulJobsHistoryLimit, 3)
	resource.Default(&spec.FailedJobsHistoryLimit, 1)
	defaultSpec(&spec.JobTemplate.Spec)
}

// checkCron checks a specification; old is that of the stored object, or nil.
func checkCron(spec, old *batchv1.CronJobSpec) field.ErrorList {
	errs := checkSchedule(spec, old != nil && strings.Contains(old.Schedule, "TZ"), specPath.Child("schedule"))
	if seconds := spec.StartingDeadlineSeconds; seconds != nil {
		errs = append(errs, apivalidation.ValidateNonnegativeField(*seconds, specPath.Child("startingDeadlineSeconds"))...)
	}
	if zone := spec.TimeZone; zone != nil && (old == nil || !ptr.Equal(old.TimeZone, zone)) {
		errs = append(errs, checkTimeZone(*zone, specPath.Child("timeZone"))...)
	}
	known := []batchv1.ConcurrencyPolicy{batchv1.AllowConcurrent, batchv1.ForbidConcurrent, batchv1.ReplaceConcurrent}
	if !slices.Contains(known, spec.ConcurrencyPolicy) {
		errs = append(errs, field.NotSupported(specPath.Child("concurrencyPolicy"), spec.ConcurrencyPolicy, known))
	}
	job := &spec.JobTemplate.Spec
	errs = append(errs, checkSpec(job, jobTemplatePath)...)
	if job.Selector != nil {
		errs = append(errs,
			field.Invalid(jobTemplatePath.Child("selector"), job.Selector, "`selector` will be auto-generated"))
	}
	if ptr.Deref(job.ManualSelector, false) {
		errs = append(errs,
			field.NotSupported(jobTemplatePath.Child("manualSelector"), job.ManualSelector, []string{"nil", "false"}))
	}
	errs = append(errs, apivalidation.ValidateNonnegativeField(
		int64(ptr.Deref(spec.SuccessfulJobsHistoryLimit, 0)), specPath.Child("successfulJobsHistoryLimit"))...)
	return append(errs, apivalidation.ValidateNonnegativeField(
		int64(ptr.Deref(spec.FailedJobsHistoryLimit, 0)), specPath.Child("failedJobsHistoryLimit"))...)
}

// checkSchedule checks a schedule. Only one that had a time zone before may have one.
func checkSchedule(spec *batchv1.CronJobSpec, hadZone bool, path *field.Path) (errs field.ErrorList) {
	if spec.Schedule == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	if err := parseSchedule(spec.Schedule); err != nil {
		errs = append(errs, field.Invalid(path, spec.Schedule, err.Error()))
	}
	switch hasZone := strings.Contains(spec.Schedule, "TZ"); {
	case hasZone && hadZone && spec.TimeZone != nil:
		errs = append(errs,
			field.Invalid(path, spec.Schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule"))
	case hasZone && !hadZone:
		errs = append(errs,
			field.Invalid(path, spec.Schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"))
	}
	return errs
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
	if strings.EqualFold(zone, "Local") {
		errs = append(errs, field.Invalid(path, zone,
			"timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"))
	}
	if _, err := time.LoadLocation(zone); err != nil {
		errs = append(errs, field.Invalid(path, zone, err.Error()))
	}
	return errs
}
