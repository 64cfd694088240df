package rules

import "k8s.io/apimachinery/pkg/util/validation/field"

// Unique returns a rule for the values of a list, which is called in their order: none occurs twice.
func Unique[T comparable]() func(value T, path *field.Path) field.ErrorList {
	seen := map[T]bool{}
	return func(value T, path *field.Path) field.ErrorList {
		repeated := seen[value]
		seen[value] = true
		return When(repeated, field.Duplicate(path, value))
	}
}
