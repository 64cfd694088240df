package batch

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/rules"
)

func checkJob(job *batchv1.Job) field.ErrorList {
	errs := resource.CheckMetadata(&job.ObjectMeta, apivalidation.NameIsDNSSubdomain)
	errs = append(errs, checkGenerated(job)...)
	errs = append(errs, checkSelected(&job.Spec)...)
	return append(errs, checkHostNames(job)...)
}

// checkGenerated checks that nobody has set the labels and the selector that are generated.
func checkGenerated(job *batchv1.Job) (errs field.ErrorList) {
	if ptr.Deref(job.Spec.ManualSelector, false) || job.Spec.Selector == nil {
		return nil
	}
	wanted := labels.Set{}
	for _, label := range []struct{ name, value string }{
		{oldControllerLabel, string(job.UID)}, {oldNameLabel, job.Name},
		{batchv1.ControllerUidLabel, string(job.UID)}, {batchv1.JobNameLabel, job.Name},
	} {
		wanted[label.name] = label.value
		path := templatePath.Child("metadata", "labels")
		switch value, found := job.Spec.Template.Labels[label.name]; {
		case !found:
			errs = append(errs, field.Required(path.Key(label.name), fmt.Sprintf("must be '%s'", label.value)))
		case value != label.value:
			errs = append(errs, field.Invalid(path.Key(label.name), job.Spec.Template.Labels,
				fmt.Sprintf("must be '%s'", label.value)))
		}
	}
	if selector, err := metav1.LabelSelectorAsSelector(job.Spec.Selector); err == nil && !selector.Matches(wanted) {
		errs = append(errs, field.Invalid(specPath.Child("selector"), job.Spec.Selector, "`selector` not auto-generated"))
	}
	return errs
}

func checkSelected(spec *batchv1.JobSpec) field.ErrorList {
	errs, path := checkSpec(spec, specPath), specPath.Child("selector")
	if spec.Selector == nil {
		errs = append(errs, field.Required(path, ""))
	}
	errs = append(errs, metav1validation.ValidateLabelSelector(
		spec.Selector, metav1validation.LabelSelectorValidationOptions{}, path)...)
	selector, err := metav1.LabelSelectorAsSelector(spec.Selector)
	return append(errs, rules.When(err == nil && !selector.Matches(labels.Set(spec.Template.Labels)),
		field.Invalid(templatePath.Child("metadata", "labels"), spec.Template.Labels,
			"`selector` does not match template `labels`"))...)
}

// checkHostNames checks that the pods of an indexed job can be named.
func checkHostNames(job *batchv1.Job) field.ErrorList {
	if !isIndexed(&job.Spec) || ptr.Deref(job.Spec.Completions, 0) <= 0 {
		return nil
	}
	last := fmt.Sprintf("%s-%d", job.Name, *job.Spec.Completions-1)
	return rules.When(len(validation.IsDNS1123Label(last)) > 0, field.Invalid(field.NewPath("metadata", "name"), job.Name,
		"will not able to create pod with invalid DNS label: "+last))
}

func checkJobUpdate(job, old *batchv1.Job) field.ErrorList {
	spec, before := &job.Spec, &old.Spec
	immutable := func(value, old any, name string) field.ErrorList {
		return apivalidation.ValidateImmutableField(value, old, specPath.Child(name))
	}
	return slices.Concat(
		resource.CheckMetadataUpdate(&job.ObjectMeta, &old.ObjectMeta),
		checkSelected(spec),
		checkCompletionsUpdate(spec, before),
		immutable(spec.Selector, before.Selector, "selector"),
		checkTemplateUpdate(job, old),
		immutable(spec.CompletionMode, before.CompletionMode, "completionMode"),
		immutable(spec.PodFailurePolicy, before.PodFailurePolicy, "podFailurePolicy"),
		immutable(spec.BackoffLimitPerIndex, before.BackoffLimitPerIndex, "backoffLimitPerIndex"),
		immutable(spec.ManagedBy, before.ManagedBy, "managedBy"),
		immutable(spec.SuccessPolicy, before.SuccessPolicy, "successPolicy"),
		checkHostNames(job),
	)
}

// checkCompletionsUpdate lets the completions of an indexed job change with the parallelism only.
func checkCompletionsUpdate(spec, old *batchv1.JobSpec) field.ErrorList {
	path := specPath.Child("completions")
	if !isIndexed(spec) {
		return apivalidation.ValidateImmutableField(spec.Completions, old.Completions, path)
	}
	alone := spec.Completions != nil && !ptr.Equal(spec.Completions, old.Completions) &&
		*spec.Completions != ptr.Deref(spec.Parallelism, 0)
	return rules.When(alone, field.Invalid(path, spec.Completions, "can only be modified in tandem with spec.parallelism"))
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
	affinity := ptr.Deref(to.Spec.Affinity, corev1.Affinity{})
	affinity.NodeAffinity = ptr.Deref(from.Spec.Affinity, corev1.Affinity{}).NodeAffinity
	to.Spec.Affinity = &affinity
	if from.Spec.Affinity == nil && equality.Semantic.DeepEqual(affinity, corev1.Affinity{}) {
		to.Spec.Affinity = nil
	}
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
