package storage

import (
	"context"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// The names of the plugins.
const (
	// DefaultStorageClass gives new claims the default class.
	DefaultStorageClass = "DefaultStorageClass"
	// PersistentVolumeClaimResize lets claims grow if their class allows it.
	PersistentVolumeClaimResize = "PersistentVolumeClaimResize"
	// StorageObjectInUseProtection gives new objects a finalizer, which a controller removes when nothing uses them.
	StorageObjectInUseProtection = "StorageObjectInUseProtection"
)

var claims = corev1.Resource("persistentvolumeclaims")

// Classes returns all StorageClasses.
type Classes = func(ctx context.Context) ([]*storagev1.StorageClass, error)

// NewDefaultStorageClass returns the plugin DefaultStorageClass for claims.
func NewDefaultStorageClass(classes Classes) resource.Plugin {
	mutate := func(ctx context.Context, obj, old runtime.Object) error {
		claim := obj.(*corev1.PersistentVolumeClaim)
		if _, named := ClassOfClaim(claim); named || old != nil {
			return nil
		}
		all, err := classes(ctx)
		if err != nil {
			return err
		}
		if class := resource.Newest(all, IsDefaultClass); class != nil {
			claim.Spec.StorageClassName = &class.Name
		}
		return nil
	}
	return resource.Plugin{Name: DefaultStorageClass, Resource: claims, Mutate: mutate}
}

var errNotResizable = errors.New("only dynamically provisioned pvc can be resized and " +
	"the storageclass that provisions the pvc must support resize")

// NewPersistentVolumeClaimResize returns the plugin PersistentVolumeClaimResize for claims.
func NewPersistentVolumeClaimResize(classes Classes) resource.Plugin {
	validate := func(ctx context.Context, obj, old runtime.Object) error {
		if old == nil {
			return nil
		}
		after, before := obj.(*corev1.PersistentVolumeClaim), old.(*corev1.PersistentVolumeClaim)
		size, oldSize := after.Spec.Resources.Requests.Storage(), before.Spec.Resources.Requests.Storage()
		if size.Cmp(*oldSize) <= 0 { // the rules of claims let only a bound one grow
			return nil
		}
		name, _ := ClassOfClaim(after)
		if oldName, _ := ClassOfClaim(before); name == "" || name != oldName {
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
	return resource.Plugin{Name: PersistentVolumeClaimResize, Resource: claims, Validate: validate}
}

// NewStorageObjectInUseProtection returns the plugins StorageObjectInUseProtection.
func NewStorageObjectInUseProtection() []resource.Plugin {
	protect := func(of schema.GroupResource, finalizer string) resource.Plugin {
		mutate := func(_ context.Context, obj, old runtime.Object) error { return addFinalizer(obj, old, finalizer) }
		return resource.Plugin{Name: StorageObjectInUseProtection, Resource: of, Mutate: mutate}
	}
	return []resource.Plugin{
		protect(claims, "kubernetes.io/pvc-protection"),
		protect(corev1.Resource("persistentvolumes"), "kubernetes.io/pv-protection"),
		protect(storagev1.Resource("volumeattributesclasses"), "kubernetes.io/vac-protection"),
	}
}

func addFinalizer(obj, old runtime.Object, finalizer string) error {
	m, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	if finalizers := m.GetFinalizers(); old == nil && !slices.Contains(finalizers, finalizer) {
		m.SetFinalizers(append(finalizers, finalizer))
	}
	return nil
}
