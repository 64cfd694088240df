package storage

import (
	"reflect"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/rules"
)

func attributesClassDefinition() *resource.Definition {
	return &resource.Definition{
		Object: &storagev1.VolumeAttributesClass{}, ShortNames: []string{"vac"},
		Columns: attributesClassColumns, ReturnsDeleted: true,
		Strategy: resource.Plain[*storagev1.VolumeAttributesClass]{CheckUpdate: checkAttributesClassUpdate}.Rules(),
	}
}

func checkAttributesClassUpdate(obj, old *storagev1.VolumeAttributesClass) field.ErrorList {
	return append(
		rules.When(obj.DriverName != old.DriverName,
			field.Forbidden(field.NewPath("driverName"), "updates to driverName are forbidden.")),
		rules.When(!reflect.DeepEqual(obj.Parameters, old.Parameters),
			field.Forbidden(field.NewPath("parameters"), "updates to parameters are forbidden."))...)
}

var attributesClassColumns = resource.Columns[*storagev1.VolumeAttributesClass]{
	{Name: "DriverName", Field: "driverName"},
	{Name: "Age"},
}
