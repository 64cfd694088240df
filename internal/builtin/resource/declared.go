package resource

import (
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Kube-apiserver declares some rules at the fields of its types, instead of checking them in a function. It reports the
// errors of those after all others, and in other words. Errors are marked as such by MarkCoveredByDeclarative, a method
// of apimachinery.

// Missing returns the error of a required field whose rule is declared.
func Missing(path *field.Path) *field.Error {
	return field.Required(path, "").MarkCoveredByDeclarative()
}

// CheckConstant returns an error if a field has changed whose rule is declared. It does not show the value.
func CheckConstant(path *field.Path, value, old any) field.ErrorList {
	if apiequality.Semantic.DeepEqual(value, old) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, nil, apivalidation.FieldImmutableErrorMsg).MarkCoveredByDeclarative()}
}

// declaredLast moves the errors of declared rules after the others.
func declaredLast(errs field.ErrorList) field.ErrorList {
	slices.SortStableFunc(errs, func(a, b *field.Error) int {
		switch {
		case a.CoveredByDeclarative == b.CoveredByDeclarative:
			return 0
		case a.CoveredByDeclarative:
			return 1
		}
		return -1
	})
	return errs
}
