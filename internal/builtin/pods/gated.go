package pods

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/rules"
)

// A pod with scheduling gates has no node yet, so the requirements on its node may become stricter.

func checkNodeSelector(spec, old *corev1.PodSpec) field.ErrorList {
	for key, value := range old.NodeSelector {
		if now, found := spec.NodeSelector[key]; !found || now != value {
			return field.ErrorList{field.Invalid(specPath.Child("nodeSelector"), spec.NodeSelector,
				"only additions to spec.nodeSelector are allowed (no mutations or deletions)")}
		}
	}
	return nil
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
		errs = append(errs, rules.When(!extends(&now[n], &before[n]),
			field.Invalid(path.Index(n), now[n], "only additions are allowed (no mutations or deletions)"))...)
	}
	return errs
}

func requiredTerms(spec *corev1.PodSpec) []corev1.NodeSelectorTerm {
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil {
		return nil
	}
	selector := spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if selector == nil {
		return nil
	}
	return selector.NodeSelectorTerms
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

// keepNodeAffinity takes the old requirements on the node, so that a comparison finds other changes only.
func keepNodeAffinity(spec, old *corev1.PodSpec) {
	var before *corev1.NodeAffinity
	if old.Affinity != nil {
		before = old.Affinity.NodeAffinity
	}
	if spec.Affinity == nil {
		if before != nil {
			spec.Affinity = &corev1.Affinity{NodeAffinity: before}
		}
		return
	}
	spec.Affinity.NodeAffinity = before
	if old.Affinity == nil && spec.Affinity.PodAffinity == nil && spec.Affinity.PodAntiAffinity == nil {
		spec.Affinity = nil
	}
}
