package storage

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

func classDefinition() *resource.Definition {
	return &resource.Definition{
		Object: &storagev1.StorageClass{}, ShortNames: []string{"sc"},
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

var classColumns = resource.Columns[*storagev1.StorageClass]{
	{Name: "Name", InList: markDefault},
	{Name: "Provisioner", Field: "provisioner"},
	{Name: "ReclaimPolicy", Field: "reclaimPolicy"},
	{Name: "VolumeBindingMode", Field: "volumeBindingMode"},
	{Name: "AllowVolumeExpansion", Field: "allowVolumeExpansion"},
	{Name: "Age"},
}

// markDefault marks the class that claims get that name none.
func markDefault(list []runtime.Object) func(class *storagev1.StorageClass) any {
	classes := make([]*storagev1.StorageClass, len(list))
	for n, item := range list {
		classes[n] = item.(*storagev1.StorageClass)
	}
	inEffect := resource.Newest(classes, IsDefaultClass)
	return func(class *storagev1.StorageClass) any {
		if inEffect != nil && inEffect.Name == class.Name {
			return class.Name + " (default)"
		}
		return class.Name
	}
}
