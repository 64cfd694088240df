// Package storageobjectinuseprotection is the admission plugin StorageObjectInUseProtection: it gives new objects a
// finalizer, which a controller removes when nothing uses them.
package storageobjectinuseprotection

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// Name is the name of the plugin.
const Name = "StorageObjectInUseProtection"

// New returns the plugins for claims, volumes and classes of attributes.
func New() []resource.Plugin {
	protect := func(of schema.GroupResource, finalizer string) resource.Plugin {
		mutate := func(_ context.Context, obj, old runtime.Object) error { return addFinalizer(obj, old, finalizer) }
		return resource.Plugin{Name: Name, Resource: of, Mutate: mutate}
	}
	return []resource.Plugin{
		protect(corev1.Resource("persistentvolumeclaims"), "kubernetes.io/pvc-protection"),
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
