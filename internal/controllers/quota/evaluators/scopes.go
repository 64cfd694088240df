package evaluators

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// matchesClass reports whether an object that has one of some classes is in a scope of classes. Empty names are none.
// An object without classes is in the scopes that exclude some.
func matchesClass(scope corev1.ScopedResourceSelectorRequirement, classes ...string) (bool, error) {
	selector, err := metav1.LabelSelectorAsSelector(&metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key: string(scope.ScopeName), Operator: metav1.LabelSelectorOperator(scope.Operator), Values: scope.Values,
		}},
	})
	if err != nil {
		return false, fmt.Errorf("failed to parse and convert selector: %w", err)
	}
	classes = slices.DeleteFunc(classes, func(class string) bool { return class == "" })
	if len(classes) == 0 {
		return selector.Matches(labels.Set{}), nil
	}
	return slices.ContainsFunc(classes, func(class string) bool {
		return selector.Matches(labels.Set{string(scope.ScopeName): class})
	}), nil
}
