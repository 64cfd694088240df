package apps

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/podspec"
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
func (s *selection) errors() (errs field.ErrorList) {
	path := specPath.Child("selector")
	if s.selector == nil {
		errs = append(errs, field.Required(path, ""))
	} else {
		errs = append(errs,
			metav1validation.ValidateLabelSelector(s.selector, metav1validation.LabelSelectorValidationOptions{}, path)...)
		if len(s.selector.MatchLabels)+len(s.selector.MatchExpressions) == 0 {
			errs = append(errs, field.Invalid(path, s.selector, "empty selector is invalid for "+s.kind))
		}
	}
	selector, err := metav1.LabelSelectorAsSelector(s.selector)
	if err != nil {
		return append(errs, field.Invalid(path, s.selector, s.invalid))
	}
	if !selector.Empty() && !selector.Matches(labels.Set(s.template.Labels)) {
		errs = append(errs, field.Invalid(templatePath.Child("metadata", "labels"), s.template.Labels,
			"`selector` does not match template `labels`"))
	}
	if s.check != nil {
		errs = append(errs, s.check(s.template, templatePath)...)
	}
	return errs
}

// checkReplicated checks the template of a workload that keeps a number of pods running. kind names it in errors.
func checkReplicated(kind string) func(template *corev1.PodTemplateSpec, path *field.Path) field.ErrorList {
	return func(template *corev1.PodTemplateSpec, path *field.Path) field.ErrorList {
		errs := podspec.CheckTemplate(template, path)
		return append(errs, checkEndless(&template.Spec, path, kind)...)
	}
}

// checkEndless checks that the containers of a workload are always restarted, and have no deadline.
func checkEndless(spec *corev1.PodSpec, path *field.Path, kind string) (errs field.ErrorList) {
	if spec.RestartPolicy != corev1.RestartPolicyAlways {
		errs = append(errs, field.NotSupported(path.Child("spec", "restartPolicy"), spec.RestartPolicy,
			[]corev1.RestartPolicy{corev1.RestartPolicyAlways}))
	}
	if spec.ActiveDeadlineSeconds != nil {
		errs = append(errs, field.Forbidden(path.Child("spec", "activeDeadlineSeconds"),
			"activeDeadlineSeconds in "+kind+" is not Supported"))
	}
	return errs
}

// changed reports whether two values differ; empty and absent are the same.
func changed(value, old any) bool { return !equality.Semantic.DeepEqual(value, old) }

// strategyValue is a strategy as an error of kube-apiserver prints it.
type strategyValue struct {
	Type          string
	RollingUpdate any
}
