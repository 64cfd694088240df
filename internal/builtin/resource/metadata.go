package resource

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var metadataPath = field.NewPath("metadata")

// CheckMetadata returns the errors of the metadata of an object in a namespace.
func CheckMetadata(m metav1.Object, name apivalidation.ValidateNameFunc) field.ErrorList {
	return append(apivalidation.ValidateObjectMetaAccessor(m, true, name, metadataPath), CheckFinalizers(m)...)
}

// CheckClusterMetadata returns the errors of the metadata of a cluster-scoped object.
func CheckClusterMetadata(m metav1.Object, name apivalidation.ValidateNameFunc) field.ErrorList {
	return append(apivalidation.ValidateObjectMetaAccessor(m, false, name, metadataPath), CheckFinalizers(m)...)
}

// CheckMetadataUpdate returns the errors of an update of metadata.
func CheckMetadataUpdate(m, old metav1.Object) field.ErrorList {
	return append(apivalidation.ValidateObjectMetaAccessorUpdate(m, old, metadataPath), CheckFinalizers(m)...)
}

// CheckFinalizers checks the finalizers of metadata more strictly than apimachinery does for all kinds.
func CheckFinalizers(m metav1.Object) (errs field.ErrorList) {
	for n, finalizer := range m.GetFinalizers() {
		errs = append(errs, CheckFinalizerDomain(finalizer, metadataPath.Child("finalizers").Index(n))...)
	}
	return errs
}

var standardFinalizers = sets.New(
	string(corev1.FinalizerKubernetes), metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents,
)

// CheckFinalizerDomain checks that a finalizer without a domain is one of Kubernetes.
func CheckFinalizerDomain(finalizer string, path *field.Path) field.ErrorList {
	if strings.Contains(finalizer, "/") || standardFinalizers.Has(finalizer) {
		return nil
	}
	return field.ErrorList{
		field.Invalid(path, finalizer, "name is neither a standard finalizer name nor is it fully qualified"),
	}
}
