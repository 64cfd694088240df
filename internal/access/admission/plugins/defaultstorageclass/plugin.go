// Package defaultstorageclass is the admission plugin DefaultStorageClass: it gives new claims the default class.
package defaultstorageclass

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/component-helpers/storage/volume"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/storage"
)

// Name is the name of the plugin.
const Name = "DefaultStorageClass"

// New returns the plugin for claims. classes returns all StorageClasses.
func New(classes func(ctx context.Context) ([]*storagev1.StorageClass, error)) resource.Plugin {
	mutate := func(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
		if volume.PersistentVolumeClaimHasClass(claim) {
			return nil
		}
		all, err := classes(ctx)
		if class := resource.Newest(all, storage.IsDefaultClass); class != nil {
			claim.Spec.StorageClassName = &class.Name
		}
		return err
	}
	claims := corev1.Resource("persistentvolumeclaims")
	return resource.Plugin{Name: Name, Resource: claims, Mutate: resource.OnCreate(mutate)}
}
