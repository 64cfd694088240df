package storage

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

func classDefinition() *resource.Definition {
	return &resource.Definition{
		GroupVersion: storagev1.SchemeGroupVersion, Kind: "StorageClass", Plural: "storageclasses",
		Singular: "storageclass", ShortNames: []string{"sc"},
		Object: &storagev1.StorageClass{}, List: &storagev1.StorageClassList{},
		Default: defaultClass, Columns: classColumns, ReturnsDeleted: true,
		Strategy: resource.Plain[*storagev1.StorageClass]{
			Declared: []string{"provisioner", "parameters", "reclaimPolicy", "volumeBindingMode"},
		}.Rules(),
	}
}

func defaultClass(obj runtime.Object) {
	class := obj.(*storagev1.StorageClass)
	resource.Default(&class.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete)
	resource.Default(&class.VolumeBindingMode, storagev1.VolumeBindingImmediate)
}

// isDefaultAnnotations mark the class of claims that name none.
var isDefaultAnnotations = []string{
	"storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class",
}

// IsDefaultClass reports whether a class is marked as that of claims that name none.
func IsDefaultClass(class *storagev1.StorageClass) bool {
	for _, annotation := range isDefaultAnnotations {
		if class.Annotations[annotation] == "true" {
			return true
		}
	}
	return false
}

var classColumns = &resource.Columns{
	Definitions: []metav1.TableColumnDefinition{
		resource.NameColumn,
		resource.TextColumn("Provisioner", storagev1.StorageClass{}.SwaggerDoc()["provisioner"]),
		resource.TextColumn("ReclaimPolicy", storagev1.StorageClass{}.SwaggerDoc()["reclaimPolicy"]),
		resource.TextColumn("VolumeBindingMode", storagev1.StorageClass{}.SwaggerDoc()["volumeBindingMode"]),
		resource.TextColumn("AllowVolumeExpansion", storagev1.StorageClass{}.SwaggerDoc()["allowVolumeExpansion"]),
		resource.AgeColumn,
	},
	Cells: func(obj runtime.Object) []any { return classCells(obj.(*storagev1.StorageClass), nil) },
	// A list says which class claims get that name none.
	CellsInList: func(items []runtime.Object) func(obj runtime.Object) []any {
		classes := make([]*storagev1.StorageClass, len(items))
		for n, item := range items {
			classes[n] = item.(*storagev1.StorageClass)
		}
		inEffect := resource.Newest(classes, IsDefaultClass)
		return func(obj runtime.Object) []any { return classCells(obj.(*storagev1.StorageClass), inEffect) }
	},
}

func classCells(class, inEffect *storagev1.StorageClass) []any {
	name := class.Name
	if inEffect != nil && inEffect.Name == name {
		name += " (default)"
	}
	return []any{
		name, class.Provisioner, string(ptr.Deref(class.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete)),
		string(ptr.Deref(class.VolumeBindingMode, storagev1.VolumeBindingImmediate)),
		ptr.Deref(class.AllowVolumeExpansion, false), resource.Age(class),
	}
}
