package policy

import (
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// emptySelectorLabel is in selectors by which one version says what an empty selector says in the other.
const emptySelectorLabel = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match"

// upgrade returns a PodDisruptionBudget of v1beta1 in v1. An empty selector matches no Pod in v1beta1, and all in v1.
func upgrade(obj runtime.Object) (runtime.Object, error) {
	budget := &policyv1.PodDisruptionBudget{}
	if err := resource.Transcode(obj, budget); err != nil {
		return nil, err
	}
	selector := budget.Spec.Selector
	if selector == nil {
		return budget, nil
	}
	if equality.Semantic.DeepEqual(selector, &metav1.LabelSelector{}) {
		selector.MatchExpressions = []metav1.LabelSelectorRequirement{
			{Key: emptySelectorLabel, Operator: metav1.LabelSelectorOpExists},
		}
		return budget, nil
	}
	selector.MatchExpressions = slices.DeleteFunc(selector.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool {
		return r.Key == emptySelectorLabel
	})
	return budget, nil
}
