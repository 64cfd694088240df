package storage

import (
	"maps"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/rules"
)

func attributesClassDefinition() *resource.Definition {
	return &resource.Definition{
		GroupVersion: storagev1.SchemeGroupVersion, Kind: "VolumeAttributesClass", Plural: "volumeattributesclasses",
		Singular: "volumeattributesclass", ShortNames: []string{"vac"},
		Object: &storagev1.VolumeAttributesClass{}, List: &storagev1.VolumeAttributesClassList{},
		Columns: attributesClassColumns, ReturnsDeleted: true,
		Strategy: resource.Plain[*storagev1.VolumeAttributesClass]{CheckUpdate: checkAttributesClassUpdate}.Rules(),
	}
}

func checkAttributesClassUpdate(obj, old *storagev1.VolumeAttributesClass) field.ErrorList {
	return append(
		rules.When(obj.DriverName != old.DriverName,
			field.Forbidden(field.NewPath("driverName"), "updates to driverName are forbidden.")),
		rules.When(!maps.Equal(obj.Parameters, old.Parameters),
			field.Forbidden(field.NewPath("parameters"), "updates to parameters are forbidden."))...)
}

var attributesClassColumns = &resource.Columns{
	Definitions: []metav1.TableColumnDefinition{
		resource.NameColumn,
		resource.TextColumn("DriverName", storagev1.VolumeAttributesClass{}.SwaggerDoc()["driverName"]),
		resource.AgeColumn,
	},
	Cells: func(obj runtime.Object) []any {
		class := obj.(*storagev1.VolumeAttributesClass)
		return []any{class.Name, class.DriverName, resource.Age(class)}
	},
}
