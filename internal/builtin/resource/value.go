package resource

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// CheckValue returns an error for each message that a check of a value returns.
func CheckValue(path *field.Path, value string, check func(value string) []string) (errs field.ErrorList) {
	for _, message := range check(value) {
		errs = append(errs, field.Invalid(path, value, message))
	}
	return errs
}

// CheckName returns an error for each message that a check of a name returns.
func CheckName(path *field.Path, name string, check func(name string, prefix bool) []string) field.ErrorList {
	return CheckValue(path, name, func(name string) []string { return check(name, false) })
}

// CheckSupported returns an error if a value is not one of those that are supported. It lists them in their order.
func CheckSupported[T ~string](path *field.Path, value T, supported ...T) field.ErrorList {
	if slices.Contains(supported, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, value, supported)}
}
