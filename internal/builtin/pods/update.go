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
		errs = append(errs, checkImages(list.containers, path)...)
	}
	deadlineErrs, last := checkDeadline(pod.Spec.ActiveDeadlineSeconds, old.Spec.ActiveDeadlineSeconds)
	if errs = append(errs, deadlineErrs...); last {
		return errs
	}
	errs = append(errs, checkTolerations(pod, old)...)
	errs = append(errs, checkGates(pod, old)...)
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
	errs := resource.CheckMetadataUpdate(&pod.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, resource.CheckMetadata(&pod.ObjectMeta, podspec.CheckName)...)
	errs = append(errs, podspec.CheckPod(pod)...)
	return append(errs, checkMirror(pod, old)...)
}

// checkMirror checks that a pod does not become, or stop being, the mirror of one that a node has started.
func checkMirror(pod, old *corev1.Pod) field.ErrorList {
	path := annotationsPath.Key(corev1.MirrorPodAnnotationKey)
	value, mirrors := pod.Annotations[corev1.MirrorPodAnnotationKey]
	before, mirrored := old.Annotations[corev1.MirrorPodAnnotationKey]
	switch {
	case mirrored && value != before:
		return field.ErrorList{field.Forbidden(path, "may not remove or update mirror pod annotation")}
	case mirrors && !mirrored:
		return field.ErrorList{field.Forbidden(path, "may not add mirror pod annotation")}
	}
	return nil
}

func checkImages(containers []corev1.Container, path *field.Path) (errs field.ErrorList) {
	for n := range containers {
		image, item := containers[n].Image, path.Index(n).Child("image")
		if image == "" {
			errs = append(errs, field.Required(item, ""))
		}
		errs = append(errs, podspec.CheckImageSpaces(image, item)...)
	}
	return errs
}

// checkDeadline checks that a deadline is only brought forward. last says that kube-apiserver checks nothing more.
func checkDeadline(seconds, old *int64) (errs field.ErrorList, last bool) {
	path := specPath.Child("activeDeadlineSeconds")
	switch {
	case seconds == nil && old != nil:
		return field.ErrorList{field.Invalid(path, seconds, "must not update from a positive integer to nil value")}, false
	case seconds == nil:
		return nil, false
	case *seconds < 0 || *seconds > math.MaxInt32:
		return field.ErrorList{field.Invalid(path, *seconds, validation.InclusiveRangeError(0, math.MaxInt32))}, true
	case old != nil && *old < *seconds:
		return field.ErrorList{field.Invalid(path, *seconds, "must be less than or equal to previous value")}, true
	}
	return nil, false
}

// checkTolerations checks that tolerations are only added, or change in how long they last.
func checkTolerations(pod, old *corev1.Pod) field.ErrorList {
	for _, before := range old.Spec.Tolerations {
		kept := func(now corev1.Toleration) bool {
			now.TolerationSeconds = before.TolerationSeconds
			return now == before
		}
		if !slices.ContainsFunc(pod.Spec.Tolerations, kept) {
			return field.ErrorList{field.Forbidden(specPath.Child("tolerations"),
				"existing toleration can not be modified except its tolerationSeconds")}
		}
	}
	return nil
}

// checkGates checks that gates are only removed.
func checkGates(pod, old *corev1.Pod) (errs field.ErrorList) {
	for n, gate := range pod.Spec.SchedulingGates {
		if !slices.Contains(old.Spec.SchedulingGates, gate) {
			errs = append(errs, field.Forbidden(specPath.Child("schedulingGates").Index(n).Child("name"),
				fmt.Sprintf("only deletion is allowed, but found new scheduling gate '%s'", gate.Name)))
		}
	}
	return errs
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
