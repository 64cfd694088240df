package pods

import (
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/podspec"
	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/rules"
)

var (
	specPath        = field.NewPath("spec")
	annotationsPath = field.NewPath("metadata", "annotations")
)

// checkPodUpdate checks that an update changes only what may change while a pod runs.
func checkPodUpdate(pod, old *corev1.Pod) field.ErrorList {
	errs := checkStored(pod, old)
	for _, list := range []struct {
		name            string
		containers, old []corev1.Container
	}{
		{"containers", pod.Spec.Containers, old.Spec.Containers},
		{"initContainers", pod.Spec.InitContainers, old.Spec.InitContainers},
	} {
		path := specPath.Child(list.name)
		if len(list.containers) != len(list.old) {
			return append(errs, field.Forbidden(path, "pod updates may not add or remove containers"))
		}
		errs = append(errs, rules.Each(list.containers, path, checkImage)...)
	}
	deadlineErrs, last := checkDeadline(pod.Spec.ActiveDeadlineSeconds, old.Spec.ActiveDeadlineSeconds)
	if errs = append(errs, deadlineErrs...); last {
		return errs
	}
	errs = append(errs, slices.Concat(checkTolerations(pod, old), checkGates(pod, old))...)
	if equality.Semantic.DeepEqual(pod.Spec, old.Spec) {
		return errs
	}
	rest, gateErrs := withoutChanges(pod, old)
	errs = append(errs, gateErrs...)
	if !equality.Semantic.DeepEqual(*rest, old.Spec) {
		errs = append(errs, field.Forbidden(specPath, fmt.Sprintf("pod updates may not change fields other than %s\n%v",
			strings.Join(mutable, ","), diff.Diff(old.Spec, *rest))))
	}
	return errs
}

// mutable are the fields of the specification that an update may change.
var mutable = []string{
	"`spec.containers[*].image`", "`spec.initContainers[*].image`", "`spec.activeDeadlineSeconds`",
	"`spec.tolerations` (only additions to existing tolerations)",
	"`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
}

// checkStored checks the metadata and the specification of a pod that replaces a stored one.
func checkStored(pod, old *corev1.Pod) field.ErrorList {
	return slices.Concat(
		resource.CheckMetadataUpdate(&pod.ObjectMeta, &old.ObjectMeta),
		resource.CheckMetadata(&pod.ObjectMeta, podspec.CheckName),
		podspec.CheckPod(pod),
		checkMirror(pod, old),
	)
}

// checkMirror checks that a pod does not become, or stop being, the mirror of one that a node has started.
func checkMirror(pod, old *corev1.Pod) field.ErrorList {
	path := annotationsPath.Key(corev1.MirrorPodAnnotationKey)
	value, mirrors := pod.Annotations[corev1.MirrorPodAnnotationKey]
	before, mirrored := old.Annotations[corev1.MirrorPodAnnotationKey]
	return slices.Concat(
		rules.When(mirrored && value != before, field.Forbidden(path, "may not remove or update mirror pod annotation")),
		rules.When(mirrors && !mirrored, field.Forbidden(path, "may not add mirror pod annotation")),
	)
}

func checkImage(container *corev1.Container, path *field.Path) field.ErrorList {
	return append(rules.Required(container.Image, path.Child("image")),
		podspec.CheckImageSpaces(container.Image, path.Child("image"))...)
}

// checkDeadline checks that a deadline is only brought forward. last says that kube-apiserver checks nothing more.
func checkDeadline(seconds, old *int64) (errs field.ErrorList, last bool) {
	path := specPath.Child("activeDeadlineSeconds")
	if seconds == nil {
		return rules.When(old != nil,
			field.Invalid(path, seconds, "must not update from a positive integer to nil value")), false
	}
	if *seconds < 0 || *seconds > math.MaxInt32 {
		return field.ErrorList{field.Invalid(path, *seconds, validation.InclusiveRangeError(0, math.MaxInt32))}, true
	}
	errs = rules.When(old != nil && *old < *seconds,
		field.Invalid(path, *seconds, "must be less than or equal to previous value"))
	return errs, len(errs) > 0
}

// checkTolerations checks that tolerations are only added, or change in how long they last.
func checkTolerations(pod, old *corev1.Pod) field.ErrorList {
	lost := func(before corev1.Toleration) bool {
		return !slices.ContainsFunc(pod.Spec.Tolerations, func(now corev1.Toleration) bool {
			now.TolerationSeconds = before.TolerationSeconds
			return now == before
		})
	}
	return rules.When(slices.ContainsFunc(old.Spec.Tolerations, lost), field.Forbidden(specPath.Child("tolerations"),
		"existing toleration can not be modified except its tolerationSeconds"))
}

// checkGates checks that gates are only removed.
func checkGates(pod, old *corev1.Pod) field.ErrorList {
	return rules.Each(pod.Spec.SchedulingGates, specPath.Child("schedulingGates"),
		func(gate *corev1.PodSchedulingGate, path *field.Path) field.ErrorList {
			return rules.When(!slices.Contains(old.Spec.SchedulingGates, *gate), field.Forbidden(path.Child("name"),
				fmt.Sprintf("only deletion is allowed, but found new scheduling gate '%s'", gate.Name)))
		})
}

// withoutChanges returns the specification of a pod with the old values of all fields that may change. It also returns
// the errors of fields that may change in part while the pod has scheduling gates.
func withoutChanges(pod, old *corev1.Pod) (*corev1.PodSpec, field.ErrorList) {
	rest, before := pod.Spec.DeepCopy(), &old.Spec
	for n := range rest.Containers {
		rest.Containers[n].Image = before.Containers[n].Image
	}
	for n := range rest.InitContainers {
		rest.InitContainers[n].Image = before.InitContainers[n].Image
	}
	rest.ActiveDeadlineSeconds = before.ActiveDeadlineSeconds
	rest.SchedulingGates, rest.Tolerations = before.SchedulingGates, before.Tolerations
	if grace := before.TerminationGracePeriodSeconds; grace != nil && *grace < 0 &&
		rest.TerminationGracePeriodSeconds != nil && *rest.TerminationGracePeriodSeconds == 1 {
		rest.TerminationGracePeriodSeconds = grace
	}
	if len(before.SchedulingGates) == 0 {
		return rest, nil
	}
	errs := checkNodeSelector(rest, before)
	rest.NodeSelector = before.NodeSelector
	errs = append(errs, checkNodeAffinity(rest, before)...)
	keepNodeAffinity(rest, before)
	return rest, errs
}
