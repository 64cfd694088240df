package policy

import (
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/rules"
)

var budgetStrategy = resource.Typed[*policyv1.PodDisruptionBudget]{
	Prepare: func(b *policyv1.PodDisruptionBudget) {
		b.Status, b.Generation = policyv1.PodDisruptionBudgetStatus{}, 1
		dropBetaLabel(b.Spec.Selector)
	},
	Check: func(b *policyv1.PodDisruptionBudget) field.ErrorList { return checkBudget(&b.Spec, false) },
	PrepareUpdate: func(b, old *policyv1.PodDisruptionBudget) {
		b.Status = old.Status
		if !equality.Semantic.DeepEqual(b.Spec, old.Spec) {
			b.Generation = old.Generation + 1
		}
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
	PrepareUpdate: func(b, old *policyv1.PodDisruptionBudget) { b.Spec = old.Spec },
	CheckUpdate: func(b, _ *policyv1.PodDisruptionBudget) field.ErrorList {
		path, s := field.NewPath("status"), &b.Status
		errs := metav1validation.ValidateConditions(s.Conditions, path.Child("conditions"))
		for _, count := range []struct {
			name  string
			value int32
		}{
			{"disruptionsAllowed", s.DisruptionsAllowed}, {"currentHealthy", s.CurrentHealthy},
			{"desiredHealthy", s.DesiredHealthy}, {"expectedPods", s.ExpectedPods},
		} {
			errs = append(errs, apivalidation.ValidateNonnegativeField(int64(count.value), path.Child(count.name))...)
		}
		return errs
	},
	RequiresVersion: true,
}

// betaLabel is a label of selectors that were converted from policy/v1beta1, in which an empty selector selected
// nothing.
const betaLabel = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match"

// dropBetaLabel drops betaLabel from a selector that says something else, too.
func dropBetaLabel(selector *metav1.LabelSelector) {
	if selector == nil || len(selector.MatchLabels) == 0 && len(selector.MatchExpressions) == 1 {
		return
	}
	selector.MatchExpressions = slices.DeleteFunc(selector.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool {
		return r.Key == betaLabel
	})
}

func checkBudget(spec *policyv1.PodDisruptionBudgetSpec, invalidSelector bool) (errs field.ErrorList) {
	path := field.NewPath("spec")
	if spec.MinAvailable != nil && spec.MaxUnavailable != nil {
		errs = append(errs, field.Invalid(path, budgetValue(*spec), "minAvailable and maxUnavailable cannot be both set"))
	}
	errs = append(errs, checkLimit(spec.MinAvailable, path.Child("minAvailable"))...)
	errs = append(errs, checkLimit(spec.MaxUnavailable, path.Child("maxUnavailable"))...)
	errs = append(errs, checkSelector(spec.Selector, invalidSelector)...)
	known := []policyv1.UnhealthyPodEvictionPolicyType{policyv1.AlwaysAllow, policyv1.IfHealthyBudget}
	if policy := spec.UnhealthyPodEvictionPolicy; policy != nil && !slices.Contains(known, *policy) {
		errs = append(errs, field.NotSupported(path.Child("unhealthyPodEvictionPolicy"), *policy, known))
	}
	return errs
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
