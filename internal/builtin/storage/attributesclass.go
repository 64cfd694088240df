package storage

import (
	"reflect"

	storagev1 "k8s.io/api/storage/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

func attributesClassDefinition() *resource.Definition {
	return &resource.Definition{
		Object: &storagev1.VolumeAttributesClass{}, ShortNames: []string{"vac"},
		Columns: attributesClassColumns, ReturnsDeleted: true,
		Strategy: resource.Typed[*storagev1.VolumeAttributesClass]{
			Check: func(obj *storagev1.VolumeAttributesClass) field.ErrorList {
				return resource.CheckClusterMetadata(&obj.ObjectMeta, apivalidation.NameIsDNSSubdomain)
			},
			CheckUpdate: func(obj, old *storagev1.VolumeAttributesClass) field.ErrorList {
				errs := resource.CheckMetadataUpdate(&obj.ObjectMeta, &old.ObjectMeta)
				if obj.DriverName != old.DriverName {
					errs = append(errs, field.Forbidden(field.NewPath("driverName"), "updates to driverName are forbidden."))
				}
				if !reflect.DeepEqual(obj.Parameters, old.Parameters) {
					errs = append(errs, field.Forbidden(field.NewPath("parameters"), "updates to parameters are forbidden."))
				}
				return errs
			},
		},
	}
}

var attributesClassColumns = resource.Columns[*storagev1.VolumeAttributesClass]{
	{Name: "DriverName", Field: "driverName"},
	{Name: "Age"},
}
