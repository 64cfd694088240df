package apps

import (
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/podspec"
	"github.com/crd-server/crd-server/internal/builtin/resource"
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
}

// check returns the errors of the selector, and whether it can be parsed.
func (s *selection) check() (errs field.ErrorList, valid bool) {
	path := specPath.Child("selector")
	errs = slices.Concat(
		rules.Missing(s.selector == nil, path, ""),
		metav1validation.ValidateLabelSelector(s.selector, metav1validation.LabelSelectorValidationOptions{}, path),
		checkNotEmpty(s.selector, s.kind),
	)
	selector, err := metav1.LabelSelectorAsSelector(s.selector)
	if err != nil {
		return append(errs, field.Invalid(path, s.selector, s.invalid)), false
	}
	if !selector.Empty() {
		errs = append(errs, checkMatch(selector, s.template)...)
	}
	return errs, true
}

// checkReplicated checks the selector and the template of a Deployment or ReplicaSet, in the same words.
func checkReplicated(selector *metav1.LabelSelector, template *corev1.PodTemplateSpec) field.ErrorList {
	s := selection{kind: "deployment", selector: selector, template: template, invalid: "invalid label selector"}
	errs, valid := s.check()
	if !valid {
		return errs
	}
	return append(errs, checkEndlessTemplate(template, "ReplicaSet")...)
}

func checkNotEmpty(selector *metav1.LabelSelector, kind string) field.ErrorList {
	return rules.Invalid(selector != nil && len(selector.MatchLabels)+len(selector.MatchExpressions) == 0,
		specPath.Child("selector"), selector, "empty selector is invalid for "+kind)
}

func checkMatch(selector labels.Selector, template *corev1.PodTemplateSpec) field.ErrorList {
	return rules.Invalid(!selector.Matches(labels.Set(template.Labels)), templatePath.Child("metadata", "labels"),
		template.Labels, "`selector` does not match template `labels`")
}

// checkEndlessTemplate checks the template of a workload that keeps pods running. kind names it in errors.
func checkEndlessTemplate(template *corev1.PodTemplateSpec, kind string) field.ErrorList {
	return append(podspec.CheckTemplate(template, templatePath), checkEndless(&template.Spec, kind)...)
}

// checkEndless checks that the containers of a workload are always restarted, and have no deadline.
func checkEndless(spec *corev1.PodSpec, kind string) field.ErrorList {
	path := templatePath.Child("spec")
	return slices.Concat(
		rules.Known(spec.RestartPolicy, path.Child("restartPolicy"), corev1.RestartPolicyAlways),
		rules.Forbidden(spec.ActiveDeadlineSeconds != nil, path.Child("activeDeadlineSeconds"),
			"activeDeadlineSeconds in "+kind+" is not Supported"),
	)
}

// changed reports whether two values differ; empty and absent are the same.
func changed(value, old any) bool { return !equality.Semantic.DeepEqual(value, old) }

// strategyValue is a strategy as an error of kube-apiserver prints it.
type strategyValue struct {
	Type          string
	RollingUpdate any
}

// checkCounts checks that no number of a status is negative. status is a pointer to it.
func checkCounts(status any) (errs field.ErrorList) {
	fields := reflect.ValueOf(status).Elem()
	for n := range fields.NumField() {
		value := reflect.Indirect(fields.Field(n))
		if value.CanInt() {
			name, _, _ := strings.Cut(fields.Type().Field(n).Tag.Get("json"), ",")
			errs = append(errs, rules.NonNegative(value.Int(), statusPath.Child(name))...)
		}
	}
	return errs
}

// checkAtMost checks that numbers of a status are at most another one, which errors call shown. status is a pointer.
func checkAtMost(status any, most, shown string, names ...string) (errs field.ErrorList) {
	number := func(name string) int64 {
		return reflect.ValueOf(status).Elem().FieldByName(strings.ToUpper(name[:1]) + name[1:]).Int()
	}
	for _, name := range names {
		errs = append(errs, rules.Invalid(number(name) > number(most), statusPath.Child(name), number(name),
			"cannot be greater than "+shown)...)
	}
	return errs
}

// checkCollisions checks that the number of collisions of names does not become smaller.
func checkCollisions(now, old *int32) field.ErrorList {
	return rules.Invalid(old != nil && (now == nil || *now < *old), statusPath.Child("collisionCount"), ptr.Deref(now, 0),
		"cannot be decremented")
}

// scale reads and writes the Scales of workloads.
var scale = &resource.Scale{
	Read: func(obj runtime.Object) (spec autoscalingv1.ScaleSpec, status autoscalingv1.ScaleStatus, err error) {
		wanted, replicas, labelSelector := replicasOf(obj)
		selector, err := metav1.LabelSelectorAsSelector(labelSelector)
		if err != nil {
			return spec, status, err
		}
		spec.Replicas, status.Replicas, status.Selector = ptr.Deref(*wanted, 0), replicas, selector.String()
		return spec, status, nil
	},
	Write: func(obj runtime.Object, replicas int32) {
		wanted, _, _ := replicasOf(obj)
		*wanted = &replicas
	},
}

// replicasOf returns the field for the wanted number of pods of a workload, their present number, and their selector.
func replicasOf(obj runtime.Object) (wanted **int32, replicas int32, selector *metav1.LabelSelector) {
	switch w := obj.(type) {
	case *appsv1.Deployment:
		return &w.Spec.Replicas, w.Status.Replicas, w.Spec.Selector
	case *appsv1.ReplicaSet:
		return &w.Spec.Replicas, w.Status.Replicas, w.Spec.Selector
	case *appsv1.StatefulSet:
		return &w.Spec.Replicas, w.Status.Replicas, w.Spec.Selector
	}
	c := obj.(*corev1.ReplicationController)
	return &c.Spec.Replicas, c.Status.Replicas, &metav1.LabelSelector{MatchLabels: c.Spec.Selector}
}
