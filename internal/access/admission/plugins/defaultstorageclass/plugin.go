// Package defaultstorageclass is the admission plugin DefaultStorageClass: it gives new claims the default class.
package defaultstorageclass

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/storage"
)

// Name is the name of the plugin.
const Name = "DefaultStorageClass"

// New returns the plugin for claims. classes returns all StorageClasses.
func New(classes func(ctx context.Context) ([]*storagev1.StorageClass, error)) resource.Plugin {
	mutate := func(ctx context.Context, obj, old runtime.Object) error {
		claim := obj.(*corev1.PersistentVolumeClaim)
		if _, named := storage.ClassOfClaim(claim); named || old != nil {
			return nil
		}
		all, err := classes(ctx)
		if err != nil {
			return err
		}
		if class := resource.Newest(all, storage.IsDefaultClass); class != nil {
			claim.Spec.StorageClassName = &class.Name
		}
		return nil
	}
	return resource.Plugin{Name: Name, Resource: corev1.Resource("persistentvolumeclaims"), Mutate: mutate}
}
