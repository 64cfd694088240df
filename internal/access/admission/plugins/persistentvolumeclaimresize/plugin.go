// Package persistentvolumeclaimresize is the admission plugin PersistentVolumeClaimResize: it lets claims grow if their
// class allows it.
package persistentvolumeclaimresize

import (
	"context"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-helpers/storage/volume"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// Name is the name of the plugin.
const Name = "PersistentVolumeClaimResize"

var errNotResizable = errors.New("only dynamically provisioned pvc can be resized and " +
	"the storageclass that provisions the pvc must support resize")

// New returns the plugin for claims. classes returns all StorageClasses.
func New(classes func(ctx context.Context) ([]*storagev1.StorageClass, error)) resource.Plugin {
	validate := func(ctx context.Context, obj, old runtime.Object) error {
		if old == nil {
			return nil
		}
		after, before := obj.(*corev1.PersistentVolumeClaim), old.(*corev1.PersistentVolumeClaim)
		size, oldSize := after.Spec.Resources.Requests.Storage(), before.Spec.Resources.Requests.Storage()
		if size.Cmp(*oldSize) <= 0 { // the rules of claims let only a bound one grow
			return nil
		}
		name := volume.GetPersistentVolumeClaimClass(after)
		if name == "" || name != volume.GetPersistentVolumeClaimClass(before) {
			return errNotResizable
		}
		all, err := classes(ctx)
		if err != nil {
			return err
		}
		n := slices.IndexFunc(all, func(class *storagev1.StorageClass) bool { return class.Name == name })
		if n < 0 || !ptr.Deref(all[n].AllowVolumeExpansion, false) {
			return errNotResizable
		}
		return nil
	}
	return resource.Plugin{Name: Name, Resource: corev1.Resource("persistentvolumeclaims"), Validate: validate}
}
