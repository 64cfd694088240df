package apps

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/podspec"
	"github.com/crd-server/crd-server/internal/builtin/rules"
)

var (
	specPath     = field.NewPath("spec")
	statusPath   = field.NewPath("status")
	templatePath = specPath.Child("template")
)

// selection is a selector of a workload and the template that it must match. kind names the workload in errors.
type selection struct {
	kind     string
	selector *metav1.LabelSelector
	template *corev1.PodTemplateSpec
	// invalid is the message for a selector that cannot be parsed.
	invalid string
	// check returns the errors of the template, unless it is nil.
	check func(template *corev1.PodTemplateSpec, path *field.Path) field.ErrorList
}

// errors returns the errors of the selector and the template.
func (s *selection) errors() field.ErrorList {
	path := specPath.Child("selector")
	errs := slices.Concat(
		rules.When(s.selector == nil, field.Required(path, "")),
		metav1validation.ValidateLabelSelector(s.selector, metav1validation.LabelSelectorValidationOptions{}, path),
		checkNotEmpty(s.selector, s.kind),
	)
	selector, err := metav1.LabelSelectorAsSelector(s.selector)
	if err != nil {
		return append(errs, field.Invalid(path, s.selector, s.invalid))
	}
	if !selector.Empty() {
		errs = append(errs, checkMatch(selector, s.template)...)
	}
	if s.check != nil {
		errs = append(errs, s.check(s.template, templatePath)...)
	}
	return errs
}

func checkNotEmpty(selector *metav1.LabelSelector, kind string) field.ErrorList {
	return rules.When(selector != nil && len(selector.MatchLabels)+len(selector.MatchExpressions) == 0,
		field.Invalid(specPath.Child("selector"), selector, "empty selector is invalid for "+kind))
}

func checkMatch(selector labels.Selector, template *corev1.PodTemplateSpec) field.ErrorList {
	return rules.When(!selector.Matches(labels.Set(template.Labels)), field.Invalid(
		templatePath.Child("metadata", "labels"), template.Labels, "`selector` does not match template `labels`"))
}

// checkReplicated checks the template of a workload that keeps a number of pods running. kind names it in errors.
func checkReplicated(kind string) func(template *corev1.PodTemplateSpec, path *field.Path) field.ErrorList {
	return func(template *corev1.PodTemplateSpec, path *field.Path) field.ErrorList {
		return append(podspec.CheckTemplate(template, path), checkEndless(&template.Spec, kind)...)
	}
}

// checkEndless checks that the containers of a workload are always restarted, and have no deadline.
func checkEndless(spec *corev1.PodSpec, kind string) field.ErrorList {
	path := templatePath.Child("spec")
	return slices.Concat(
		rules.Known(spec.RestartPolicy, path.Child("restartPolicy"), corev1.RestartPolicyAlways),
		rules.When(spec.ActiveDeadlineSeconds != nil, field.Forbidden(path.Child("activeDeadlineSeconds"),
			"activeDeadlineSeconds in "+kind+" is not Supported")),
	)
}

// checkConstant checks that a field of the specification does not change.
func checkConstant(value, old any, name string) field.ErrorList {
	return apivalidation.ValidateImmutableField(value, old, specPath.Child(name))
}

// checkNumber checks that a number of the specification is not negative.
func checkNumber(number int32, name string) field.ErrorList {
	return rules.NonNegative(number, specPath.Child(name))
}

// changed reports whether two values differ; empty and absent are the same.
func changed(value, old any) bool { return !equality.Semantic.DeepEqual(value, old) }

// strategyValue is a strategy as an error of kube-apiserver prints it.
type strategyValue struct {
	Type          string
	RollingUpdate any
}
