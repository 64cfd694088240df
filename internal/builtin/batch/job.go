package batch

import (
	"fmt"
	"math"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/podspec"
	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/rules"
)

var specPath, templatePath = field.NewPath("spec"), field.NewPath("spec", "template")

var jobStrategy = podspec.WithWarnings(resource.Typed[*batchv1.Job]{
	Name: apivalidation.NameIsDNSSubdomain, Prepare: prepareJob, Check: checkJob,
	PrepareUpdate: resource.Follow[*batchv1.Job], CheckUpdate: checkJobUpdate,
}, templatePath, func(job *batchv1.Job) *corev1.PodTemplateSpec { return &job.Spec.Template })

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

// label is a label of the pods of a job.
type label struct{ name, value string }

// ownLabels returns the labels by which a job finds its pods, in the order of kube-apiserver's errors.
func ownLabels(job *batchv1.Job) []label {
	return []label{
		{oldControllerLabel, string(job.UID)}, {oldNameLabel, job.Name},
		{batchv1.ControllerUidLabel, string(job.UID)}, {batchv1.JobNameLabel, job.Name},
	}
}

// selectOwnPods labels the pods of a job by its name and UID, and selects them by the UID.
func selectOwnPods(job *batchv1.Job) {
	template := &job.Spec.Template
	for _, label := range ownLabels(job) {
		if _, found := template.Labels[label.name]; !found {
			metav1.SetMetaDataLabel(&template.ObjectMeta, label.name, label.value)
		}
	}
	resource.Default(&job.Spec.Selector, metav1.LabelSelector{})
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
	if len(job.Labels) == 0 && spec.Template.Labels != nil {
		job.Labels = spec.Template.Labels // one map, so that a new job also gets the labels that selectOwnPods adds
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
			resource.DefaultValue(&rule.OnPodConditions[n].Status, corev1.ConditionTrue)
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

func checkJob(job *batchv1.Job) field.ErrorList {
	return slices.Concat(checkGenerated(job), checkSelected(&job.Spec), checkHostNames(job))
}

// checkGenerated checks that nobody has set the labels and the selector that are generated.
func checkGenerated(job *batchv1.Job) (errs field.ErrorList) {
	if ptr.Deref(job.Spec.ManualSelector, false) || job.Spec.Selector == nil {
		return nil
	}
	wanted, path := labels.Set{}, templatePath.Child("metadata", "labels")
	for _, label := range ownLabels(job) {
		wanted[label.name] = label.value
		value, found := job.Spec.Template.Labels[label.name]
		message := fmt.Sprintf("must be '%s'", label.value)
		errs = append(errs, append(rules.Missing(!found, path.Key(label.name), message),
			rules.Invalid(found && value != label.value, path.Key(label.name), job.Spec.Template.Labels, message)...)...)
	}
	if selector, err := metav1.LabelSelectorAsSelector(job.Spec.Selector); err == nil && !selector.Matches(wanted) {
		errs = append(errs, field.Invalid(specPath.Child("selector"), job.Spec.Selector, "`selector` not auto-generated"))
	}
	return errs
}

func checkSelected(spec *batchv1.JobSpec) field.ErrorList {
	path := specPath.Child("selector")
	selector, err := metav1.LabelSelectorAsSelector(spec.Selector)
	return slices.Concat(
		checkSpec(spec, specPath),
		rules.Missing(spec.Selector == nil, path, ""),
		metav1validation.ValidateLabelSelector(spec.Selector, metav1validation.LabelSelectorValidationOptions{}, path),
		rules.Invalid(err == nil && !selector.Matches(labels.Set(spec.Template.Labels)),
			templatePath.Child("metadata", "labels"), spec.Template.Labels, "`selector` does not match template `labels`"),
	)
}

// checkHostNames checks that the pods of an indexed job can be named.
func checkHostNames(job *batchv1.Job) field.ErrorList {
	if !isIndexed(&job.Spec) || ptr.Deref(job.Spec.Completions, 0) <= 0 {
		return nil
	}
	last := fmt.Sprintf("%s-%d", job.Name, *job.Spec.Completions-1)
	return rules.Invalid(len(validation.IsDNS1123Label(last)) > 0, field.NewPath("metadata", "name"), job.Name,
		"will not able to create pod with invalid DNS label: "+last)
}

func checkJobUpdate(job, old *batchv1.Job) field.ErrorList {
	spec, before := &job.Spec, &old.Spec
	return slices.Concat(
		checkSelected(spec),
		checkCompletionsUpdate(spec, before),
		rules.Constant(spec, before, specPath, "selector"),
		checkTemplateUpdate(job, old),
		rules.Constant(spec, before, specPath,
			"completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"),
		checkHostNames(job),
	)
}

// checkCompletionsUpdate lets the completions of an indexed job change with the parallelism only.
func checkCompletionsUpdate(spec, old *batchv1.JobSpec) field.ErrorList {
	path := specPath.Child("completions")
	if !isIndexed(spec) {
		return rules.Constant(spec, old, specPath, "completions")
	}
	alone := spec.Completions != nil && !ptr.Equal(spec.Completions, old.Completions) &&
		*spec.Completions != ptr.Deref(spec.Parallelism, 0)
	return rules.Invalid(alone, path, spec.Completions, "can only be modified in tandem with spec.parallelism")
}

// checkTemplateUpdate lets the template of a suspended job change in what decides where its pods run, and what they
// request.
func checkTemplateUpdate(job, old *batchv1.Job) field.ErrorList {
	template, before := &job.Spec.Template, &old.Spec.Template
	suspended := ptr.Deref(old.Spec.Suspend, false)
	notRunning := old.Status.StartTime == nil || isTrue(&old.Status, batchv1.JobSuspended)
	if suspended && notRunning && old.Status.Active == 0 {
		before = before.DeepCopy()
		takeScheduling(before, template)
		takeResources(before.Spec.Containers, template.Spec.Containers)
		takeResources(before.Spec.InitContainers, template.Spec.InitContainers)
		return apivalidation.ValidateImmutableField(template.Spec, before.Spec, specPath.Child("template.spec"))
	}
	return apivalidation.ValidateImmutableField(template, before, specPath.Child("template"))
}

// takeScheduling copies what decides where pods run.
func takeScheduling(to, from *corev1.PodTemplateSpec) {
	podspec.TakeNodeAffinity(&to.Spec, &from.Spec)
	to.Spec.NodeSelector, to.Spec.Tolerations = from.Spec.NodeSelector, from.Spec.Tolerations
	to.Spec.SchedulingGates = from.Spec.SchedulingGates
	to.Annotations, to.Labels = from.Annotations, from.Labels
}

// takeResources copies the resources of containers that have the same names in the same order.
func takeResources(to, from []corev1.Container) {
	if len(to) != len(from) {
		return
	}
	for n := range to {
		if to[n].Name == from[n].Name {
			to[n].Resources = from[n].Resources
		}
	}
}
