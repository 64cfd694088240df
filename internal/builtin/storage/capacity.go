package storage

import (
	storagev1 "k8s.io/api/storage/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

func capacityDefinition() *resource.Definition {
	return &resource.Definition{
		Object: &storagev1.CSIStorageCapacity{}, Namespaced: true,
		Strategy: resource.Typed[*storagev1.CSIStorageCapacity]{
			Check: func(obj *storagev1.CSIStorageCapacity) field.ErrorList {
				return resource.CheckMetadata(&obj.ObjectMeta, apivalidation.NameIsDNSSubdomain)
			},
			CheckUpdate: func(obj, old *storagev1.CSIStorageCapacity) field.ErrorList {
				errs := resource.CheckMetadataUpdate(&obj.ObjectMeta, &old.ObjectMeta)
				errs = append(errs, apivalidation.ValidateImmutableField(
					obj.NodeTopology, old.NodeTopology, field.NewPath("nodeTopology"))...)
				return append(errs, apivalidation.ValidateImmutableField(
					obj.StorageClassName, old.StorageClassName, field.NewPath("storageClassName"))...)
			},
			RequiresVersion: true,
		},
	}
}
