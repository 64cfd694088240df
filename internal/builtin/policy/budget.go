// Package policy has the rules of PodDisruptionBudgets. No controller computes their status; clients write it.
package policy

import (
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/rules"
)

var budgetStrategy = resource.Typed[*policyv1.PodDisruptionBudget]{
	Prepare: func(b *policyv1.PodDisruptionBudget) {
		resource.Begin(b)
		dropBetaLabel(b.Spec.Selector)
	},
	Check: func(b *policyv1.PodDisruptionBudget) field.ErrorList { return checkBudget(&b.Spec, false) },
	PrepareUpdate: func(b, old *policyv1.PodDisruptionBudget) {
		resource.Follow(b, old)
		if !equality.Semantic.DeepEqual(b.Spec.Selector, old.Spec.Selector) {
			dropBetaLabel(b.Spec.Selector)
		}
	},
	CheckUpdate: func(b, old *policyv1.PodDisruptionBudget) field.ErrorList {
		return checkBudget(&b.Spec, len(checkSelector(old.Spec.Selector, false)) > 0)
	},
	RequiresVersion: true,
}

var budgetStatus = resource.Typed[*policyv1.PodDisruptionBudget]{
	PrepareUpdate: resource.KeepSpec[*policyv1.PodDisruptionBudget],
	CheckUpdate: func(b, _ *policyv1.PodDisruptionBudget) field.ErrorList {
		path := field.NewPath("status")
		return append(metav1validation.ValidateConditions(b.Status.Conditions, path.Child("conditions")), rules.NonNegatives(
			&b.Status, path, "disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")...)
	},
	RequiresVersion: true,
}

// betaLabel is a label of selectors that were converted from policy/v1beta1, in which an empty selector selected
// nothing.
const betaLabel = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match"

// dropBetaLabel drops betaLabel from a selector that says something else, too.
func dropBetaLabel(selector *metav1.LabelSelector) {
	if selector != nil && (len(selector.MatchLabels) > 0 || len(selector.MatchExpressions) != 1) {
		dropExpression(selector)
	}
}

func dropExpression(selector *metav1.LabelSelector) {
	selector.MatchExpressions = slices.DeleteFunc(selector.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool {
		return r.Key == betaLabel
	})
}

func checkBudget(spec *policyv1.PodDisruptionBudgetSpec, invalidSelector bool) field.ErrorList {
	path := field.NewPath("spec")
	return slices.Concat(
		rules.Invalid(spec.MinAvailable != nil && spec.MaxUnavailable != nil, path, budgetValue(*spec),
			"minAvailable and maxUnavailable cannot be both set"),
		checkLimit(spec.MinAvailable, path.Child("minAvailable")),
		checkLimit(spec.MaxUnavailable, path.Child("maxUnavailable")),
		checkSelector(spec.Selector, invalidSelector),
		rules.Known(ptr.Deref(spec.UnhealthyPodEvictionPolicy, policyv1.AlwaysAllow),
			path.Child("unhealthyPodEvictionPolicy"), policyv1.AlwaysAllow, policyv1.IfHealthyBudget),
	)
}

// budgetValue is a specification as an error of kube-apiserver prints it.
type budgetValue struct {
	MinAvailable               *intstr.IntOrString
	Selector                   *metav1.LabelSelector
	MaxUnavailable             *intstr.IntOrString
	UnhealthyPodEvictionPolicy *policyv1.UnhealthyPodEvictionPolicyType
}

func checkLimit(limit *intstr.IntOrString, path *field.Path) field.ErrorList {
	return append(rules.IntOrPercent(limit, path), rules.PercentLimit(limit, path)...)
}

// checkSelector checks a selector. A stored one with invalid values may stay.
func checkSelector(selector *metav1.LabelSelector, invalidValues bool) field.ErrorList {
	options := metav1validation.LabelSelectorValidationOptions{AllowInvalidLabelValueInSelector: invalidValues}
	return metav1validation.ValidateLabelSelector(selector, options, field.NewPath("spec", "selector"))
}

// Definitions returns the row of PodDisruptionBudgets.
func Definitions() []*resource.Definition {
	return []*resource.Definition{{
		Object: &policyv1.PodDisruptionBudget{}, ShortNames: []string{"pdb"}, Namespaced: true,
		Strategy:     budgetStrategy,
		Subresources: []resource.Subresource{{Name: "status", Strategy: budgetStatus}},
		Columns:      budgetColumns, Upgrade: upgrade,
	}}
}

var budgetColumns = resource.Columns[*policyv1.PodDisruptionBudget]{
	{Name: "Min Available", Field: "spec.minAvailable", Empty: "N/A",
		Doc: "The minimum number of pods that must be available."},
	{Name: "Max Unavailable", Field: "spec.maxUnavailable", Empty: "N/A",
		Doc: "The maximum number of pods that may be unavailable."},
	{Name: "Allowed Disruptions", Type: "integer", Field: "status.disruptionsAllowed",
		Doc: "Calculated number of pods that may be disrupted at this time."},
	{Name: "Age"},
}

// upgrade completes a PodDisruptionBudget of v1beta1. An empty selector matches no Pod in v1beta1, and all in v1.
func upgrade(_, obj runtime.Object) error {
	selector := obj.(*policyv1.PodDisruptionBudget).Spec.Selector
	if selector == nil {
		return nil
	}
	if equality.Semantic.DeepEqual(selector, &metav1.LabelSelector{}) {
		selector.MatchExpressions = []metav1.LabelSelectorRequirement{
			{Key: betaLabel, Operator: metav1.LabelSelectorOpExists},
		}
		return nil
	}
	dropExpression(selector)
	return nil
}
