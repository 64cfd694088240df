package storage

import (
	"context"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
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
	return resource.Plugin{Name: DefaultStorageClass, Mutate: mutate}
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
	return resource.Plugin{Name: PersistentVolumeClaimResize, Validate: validate}
}

// protections are the finalizers of StorageObjectInUseProtection, by the plural of the resource.
var protections = map[string]string{
	"persistentvolumeclaims": "kubernetes.io/pvc-protection", "persistentvolumes": "kubernetes.io/pv-protection",
	"volumeattributesclasses": "kubernetes.io/vac-protection",
}

// Protect adds the plugin StorageObjectInUseProtection to those of the definitions that it protects.
func Protect(definitions []*resource.Definition) {
	for _, d := range definitions {
		finalizer, found := protections[d.Plural]
		if group := d.GroupVersion.Group; !found || group != corev1.GroupName && group != storagev1.GroupName {
			continue
		}
		mutate := func(_ context.Context, obj, old runtime.Object) error { return addFinalizer(obj, old, finalizer) }
		d.Plugins = append(d.Plugins, resource.Plugin{Name: StorageObjectInUseProtection, Mutate: mutate})
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
