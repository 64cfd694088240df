package storage

import (
	storagev1 "k8s.io/api/storage/v1"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

func capacityDefinition() *resource.Definition {
	return &resource.Definition{
		Object: &storagev1.CSIStorageCapacity{}, Namespaced: true,
		Strategy: resource.Plain[*storagev1.CSIStorageCapacity]{
			Constant: []string{"nodeTopology", "storageClassName"}, RequiresVersion: true,
		}.Rules(),
	}
}
