package policy

import (
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

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
