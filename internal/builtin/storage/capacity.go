package storage

import (
	storagev1 "k8s.io/api/storage/v1"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

func capacityDefinition() *resource.Definition {
	return &resource.Definition{
		GroupVersion: storagev1.SchemeGroupVersion, Kind: "CSIStorageCapacity", Plural: "csistoragecapacities",
		Singular: "csistoragecapacity", Namespaced: true,
		Object: &storagev1.CSIStorageCapacity{}, List: &storagev1.CSIStorageCapacityList{},
		Strategy: resource.Plain[*storagev1.CSIStorageCapacity]{
			Constant: []string{"nodeTopology", "storageClassName"}, RequiresVersion: true,
		}.Rules(),
	}
}
