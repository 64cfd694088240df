package batch

import (
	"fmt"
	"math"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/podspec"
	"github.com/crd-server/crd-server/internal/builtin/resource"
)

var specPath, templatePath = field.NewPath("spec"), field.NewPath("spec", "template")

var jobStrategy = resource.Typed[*batchv1.Job]{
	Prepare: prepareJob, Check: checkJob,
	Warn: func(job *batchv1.Job) []string {
		return append(podspec.NameWarnings(job.Name), podspec.TemplateWarnings(&job.Spec.Template, templatePath)...)
	},
	PrepareUpdate: resource.Follow[*batchv1.Job],
	CheckUpdate:   checkJobUpdate,
	WarnUpdate: resource.WhenChanged(func(job *batchv1.Job) []string {
		return podspec.TemplateWarnings(&job.Spec.Template, templatePath)
	}),
}

func prepareJob(job *batchv1.Job) {
	if !ptr.Deref(job.Spec.ManualSelector, false) {
		selectOwnPods(job)
	}
	if len(job.Labels) == 0 {
		job.Labels = job.Spec.Template.Labels
	}
	resource.Begin(job)
}

// The labels of older versions of Kubernetes.
const (
	oldNameLabel       = "job-name"
	oldControllerLabel = "controller-uid"
)

// selectOwnPods labels the pods of a job by its name and UID, and selects them by the UID.
func selectOwnPods(job *batchv1.Job) {
	template := &job.Spec.Template
	for label, value := range map[string]string{
		oldNameLabel: job.Name, batchv1.JobNameLabel: job.Name,
		oldControllerLabel: string(job.UID), batchv1.ControllerUidLabel: string(job.UID),
	} {
		if _, found := template.Labels[label]; !found {
			metav1.SetMetaDataLabel(&template.ObjectMeta, label, value)
		}
	}
	if job.Spec.Selector == nil {
		job.Spec.Selector = &metav1.LabelSelector{}
	}
	if _, found := job.Spec.Selector.MatchLabels[batchv1.ControllerUidLabel]; !found {
		metav1.AddLabelToSelector(job.Spec.Selector, batchv1.ControllerUidLabel, string(job.UID))
	}
}

func defaultJob(obj runtime.Object) {
	job := obj.(*batchv1.Job)
	spec := &job.Spec
	if spec.Completions == nil && spec.Parallelism == nil {
		spec.Completions = ptr.To[int32](1)
	}
	resource.Default(&spec.Parallelism, 1)
	if spec.BackoffLimitPerIndex != nil {
		resource.Default(&spec.BackoffLimit, math.MaxInt32)
	}
	resource.Default(&spec.BackoffLimit, 6)
	if labels := spec.Template.Labels; labels != nil && len(job.Labels) == 0 {
		job.Labels = labels // one map, so that a new job also gets the labels that selectOwnPods adds
	}
	resource.Default(&spec.CompletionMode, batchv1.NonIndexedCompletion)
	resource.Default(&spec.Suspend, false)
	if spec.PodFailurePolicy != nil {
		resource.Default(&spec.PodReplacementPolicy, batchv1.Failed)
	}
	resource.Default(&spec.PodReplacementPolicy, batchv1.TerminatingOrFailed)
	resource.Default(&spec.ManualSelector, false)
	defaultSpec(spec)
}

// defaultSpec sets the defaults that Jobs and templates of Jobs have.
func defaultSpec(spec *batchv1.JobSpec) {
	podspec.DefaultTemplate(&spec.Template)
	if spec.PodFailurePolicy == nil {
		return
	}
	for _, rule := range spec.PodFailurePolicy.Rules {
		for n := range rule.OnPodConditions {
			if pattern := &rule.OnPodConditions[n]; pattern.Status == "" {
				pattern.Status = corev1.ConditionTrue
			}
		}
	}
}

// deleteWarnings warns that the pods of a job stay.
func deleteWarnings(options *metav1.DeleteOptions) []string {
	//lint:ignore SA1019 old clients set it
	if options.PropagationPolicy != nil || options.OrphanDependents != nil {
		return nil
	}
	return []string{"child pods are preserved by default when jobs are deleted; " +
		"set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning"}
}

var jobFields = &resource.Fields{
	Values: map[string]func(obj runtime.Object) string{
		"status.successful": func(obj runtime.Object) string { return fmt.Sprint(obj.(*batchv1.Job).Status.Succeeded) },
	},
	Unsupported: "field label %q not supported for Job",
}
