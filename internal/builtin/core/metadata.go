package core

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var metadataPath = field.NewPath("metadata")

// validateMetadata returns the errors of the metadata of a namespaced object.
func validateMetadata(m *metav1.ObjectMeta, name apivalidation.ValidateNameFunc) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(m, true, name, metadataPath)
	return append(errs, ValidateFinalizers(m)...)
}

// validateMetadataUpdate returns the errors of an update of metadata.
func validateMetadataUpdate(m, old *metav1.ObjectMeta) field.ErrorList {
	return append(apivalidation.ValidateObjectMetaUpdate(m, old, metadataPath), ValidateFinalizers(m)...)
}

// ValidateFinalizers checks the finalizers of metadata more strictly than apimachinery does for all kinds.
func ValidateFinalizers(m *metav1.ObjectMeta) (errs field.ErrorList) {
	for n, finalizer := range m.Finalizers {
		errs = append(errs, validateFinalizerDomain(finalizer, metadataPath.Child("finalizers").Index(n))...)
	}
	return errs
}

var standardFinalizers = sets.New(
	string(corev1.FinalizerKubernetes), metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents,
)

// validateFinalizerDomain checks that a finalizer without a domain is one of Kubernetes.
func validateFinalizerDomain(finalizer string, path *field.Path) field.ErrorList {
	if strings.Contains(finalizer, "/") || standardFinalizers.Has(finalizer) {
		return nil
	}
	return field.ErrorList{
		field.Invalid(path, finalizer, "name is neither a standard finalizer name nor is it fully qualified"),
	}
}

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

// unsupportedField is the error for a field selector of a kind that names its fields itself.
func unsupportedField(name string) error {
	return fmt.Errorf("field label not supported: %s", name)
}
