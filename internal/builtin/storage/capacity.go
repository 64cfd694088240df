package storage

import (
	storagev1 "k8s.io/api/storage/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

func capacityDefinition() *resource.Definition {
	return &resource.Definition{
		GroupVersion: storagev1.SchemeGroupVersion, Kind: "CSIStorageCapacity", Plural: "csistoragecapacities",
		Singular: "csistoragecapacity", Namespaced: true,
		Object: &storagev1.CSIStorageCapacity{}, List: &storagev1.CSIStorageCapacityList{},
		Strategy: resource.Typed[*storagev1.CSIStorageCapacity]{
			Check: func(obj *storagev1.CSIStorageCapacity) field.ErrorList {
				return checkCapacity(obj, metavalidation.LabelSelectorValidationOptions{})
			},
			CheckUpdate:     checkCapacityUpdate,
			RequiresVersion: true,
		},
	}
}

var topologyPath = field.NewPath("nodeTopology")

func checkCapacity(
	obj *storagev1.CSIStorageCapacity, selectors metavalidation.LabelSelectorValidationOptions,
) field.ErrorList {
	errs := resource.CheckMetadata(&obj.ObjectMeta, apivalidation.NameIsDNSSubdomain)
	errs = append(errs, metavalidation.ValidateLabelSelector(obj.NodeTopology, selectors, topologyPath)...)
	path := field.NewPath("storageClassName")
	errs = append(errs, resource.CheckName(path, obj.StorageClassName, apivalidation.NameIsDNSSubdomain)...)
	if capacity := obj.Capacity; capacity != nil && capacity.Sign() < 0 {
		errs = append(errs, field.Invalid(field.NewPath("capacity"), capacity.String(), apivalidation.IsNegativeErrorMsg))
	}
	return errs
}

func checkCapacityUpdate(obj, old *storagev1.CSIStorageCapacity) field.ErrorList {
	var selectors metavalidation.LabelSelectorValidationOptions
	selectors.AllowInvalidLabelValueInSelector =
		len(metavalidation.ValidateLabelSelector(old.NodeTopology, selectors, nil)) > 0
	errs := append(checkCapacity(obj, selectors), resource.CheckMetadataUpdate(&obj.ObjectMeta, &old.ObjectMeta)...)
	if !apiequality.Semantic.DeepEqual(obj.NodeTopology, old.NodeTopology) {
		errs = append(errs, field.Invalid(topologyPath, obj.NodeTopology, apivalidation.FieldImmutableErrorMsg))
	}
	if obj.StorageClassName != old.StorageClassName {
		path := field.NewPath("storageClassName")
		errs = append(errs, field.Invalid(path, obj.StorageClassName, apivalidation.FieldImmutableErrorMsg))
	}
	return errs
}
