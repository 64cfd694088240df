package pods

import (
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

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
	const added = "pod updates may not add or remove containers"
	containers, initContainers := specPath.Child("containers"), specPath.Child("initContainers")
	if len(pod.Spec.Containers) != len(old.Spec.Containers) {
		return append(errs, field.Forbidden(containers, added))
	}
	errs = append(errs, rules.Each(pod.Spec.Containers, containers, checkImage)...)
	if len(pod.Spec.InitContainers) != len(old.Spec.InitContainers) {
		return append(errs, field.Forbidden(initContainers, added))
	}
	errs = append(errs, rules.Each(pod.Spec.InitContainers, initContainers, checkImage)...)
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
		resource.CheckMetadata(&pod.ObjectMeta, apivalidation.NameIsDNSSubdomain),
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
		rules.Forbidden(mirrored && value != before, path, "may not remove or update mirror pod annotation"),
		rules.Forbidden(mirrors && !mirrored, path, "may not add mirror pod annotation"),
	)
}

func checkImage(container *corev1.Container, path *field.Path) field.ErrorList {
	return append(rules.Required(container.Image, path.Child("image")), podspec.CheckImageSpaces(container, path)...)
}

// checkDeadline checks that a deadline is only brought forward. last says that kube-apiserver checks nothing more.
func checkDeadline(seconds, old *int64) (errs field.ErrorList, last bool) {
	path := specPath.Child("activeDeadlineSeconds")
	if seconds == nil {
		return rules.Invalid(old != nil, path, seconds, "must not update from a positive integer to nil value"), false
	}
	if *seconds < 0 || *seconds > math.MaxInt32 {
		return field.ErrorList{field.Invalid(path, *seconds, validation.InclusiveRangeError(0, math.MaxInt32))}, true
	}
	errs = rules.Invalid(old != nil && *old < *seconds, path, *seconds, "must be less than or equal to previous value")
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
	return rules.Forbidden(slices.ContainsFunc(old.Spec.Tolerations, lost), specPath.Child("tolerations"),
		"existing toleration can not be modified except its tolerationSeconds")
}

// checkGates checks that gates are only removed.
func checkGates(pod, old *corev1.Pod) field.ErrorList {
	return rules.Each(pod.Spec.SchedulingGates, specPath.Child("schedulingGates"),
		func(gate *corev1.PodSchedulingGate, path *field.Path) field.ErrorList {
			return rules.Forbidden(!slices.Contains(old.Spec.SchedulingGates, *gate), path.Child("name"),
				fmt.Sprintf("only deletion is allowed, but found new scheduling gate '%s'", gate.Name))
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
	if grace := before.TerminationGracePeriodSeconds; ptr.Deref(grace, 0) < 0 &&
		ptr.Deref(rest.TerminationGracePeriodSeconds, 0) == 1 {
		rest.TerminationGracePeriodSeconds = grace
	}
	if len(before.SchedulingGates) == 0 {
		return rest, nil
	}
	errs := checkNodeSelector(rest, before)
	rest.NodeSelector = before.NodeSelector
	errs = append(errs, checkNodeAffinity(rest, before)...)
	if rest.Affinity != nil || nodeAffinity(before) != nil {
		podspec.TakeNodeAffinity(rest, before)
	}
	return rest, errs
}

// A pod with scheduling gates has no node yet, so the requirements on its node may become stricter.

func checkNodeSelector(spec, old *corev1.PodSpec) field.ErrorList {
	keeps := labels.SelectorFromSet(old.NodeSelector).Matches(labels.Set(spec.NodeSelector))
	return rules.Invalid(!keeps, specPath.Child("nodeSelector"), spec.NodeSelector,
		"only additions to spec.nodeSelector are allowed (no mutations or deletions)")
}

func checkNodeAffinity(spec, old *corev1.PodSpec) (errs field.ErrorList) {
	before, now := requiredTerms(old), requiredTerms(spec)
	path := specPath.Child("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution",
		"nodeSelectorTerms")
	if len(before) > 0 && len(before) != len(now) {
		return field.ErrorList{field.Invalid(path, now,
			"no additions/deletions to non-empty NodeSelectorTerms list are allowed")}
	}
	for n := range before {
		errs = append(errs, rules.Invalid(!extends(&now[n], &before[n]), path.Index(n), now[n],
			"only additions are allowed (no mutations or deletions)")...)
	}
	return errs
}

func nodeAffinity(spec *corev1.PodSpec) *corev1.NodeAffinity {
	return ptr.Deref(spec.Affinity, corev1.Affinity{}).NodeAffinity
}

func requiredTerms(spec *corev1.PodSpec) []corev1.NodeSelectorTerm {
	affinity := ptr.Deref(nodeAffinity(spec), corev1.NodeAffinity{})
	return ptr.Deref(affinity.RequiredDuringSchedulingIgnoredDuringExecution, corev1.NodeSelector{}).NodeSelectorTerms
}

// extends reports whether a term has all requirements of another one.
func extends(term, old *corev1.NodeSelectorTerm) bool {
	empty := len(old.MatchExpressions)+len(old.MatchFields) == 0
	if empty && len(term.MatchExpressions)+len(term.MatchFields) > 0 {
		return false // an empty term selects no node
	}
	return begins(term.MatchExpressions, old.MatchExpressions) && begins(term.MatchFields, old.MatchFields)
}

func begins(requirements, old []corev1.NodeSelectorRequirement) bool {
	return len(requirements) >= len(old) && slices.EqualFunc(requirements[:len(old)], old,
		func(a, b corev1.NodeSelectorRequirement) bool { return equality.Semantic.DeepEqual(a, b) })
}
