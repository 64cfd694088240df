package core

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var metadataPath = field.NewPath("metadata")

// validateKey checks a key of the data of a ConfigMap or Secret.
func validateKey(key string, path *field.Path) (errs field.ErrorList) {
	for _, message := range validation.IsConfigMapKey(key) {
		errs = append(errs, field.Invalid(path.Key(key), key, message))
	}
	return errs
}

// withoutNulls replaces nil values by empty ones. kube-apiserver stores protobuf, which does not tell them apart.
func withoutNulls(data map[string][]byte) {
	for key, value := range data {
		if value == nil {
			data[key] = []byte{}
		}
	}
}

// sorted returns the keys of a map in order, so that errors have an order.
func sorted[K ~string, V any](m map[K]V) []K {
	return slices.Sorted(maps.Keys(m))
}
