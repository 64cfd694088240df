package resource

import (
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var metadataPath = field.NewPath("metadata")

// CheckMetadata returns the errors of the metadata of an object in a namespace.
func CheckMetadata(m *metav1.ObjectMeta, name apivalidation.ValidateNameFunc) field.ErrorList {
	return apivalidation.ValidateObjectMeta(m, true, name, metadataPath)
}

// CheckClusterMetadata returns the errors of the metadata of a cluster-scoped object.
func CheckClusterMetadata(m *metav1.ObjectMeta, name apivalidation.ValidateNameFunc) field.ErrorList {
	return apivalidation.ValidateObjectMeta(m, false, name, metadataPath)
}

// CheckMetadataUpdate returns the errors of an update of metadata.
func CheckMetadataUpdate(m, old *metav1.ObjectMeta) field.ErrorList {
	return apivalidation.ValidateObjectMetaUpdate(m, old, metadataPath)
}
