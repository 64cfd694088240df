// Package storageobjectinuseprotection is the admission plugin StorageObjectInUseProtection: it gives new objects a
// finalizer, which a controller removes when nothing uses them.
package storageobjectinuseprotection

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// Name is the name of the plugin.
const Name = "StorageObjectInUseProtection"

// New returns the plugins for claims, volumes and classes of attributes.
func New() []resource.Plugin {
	return []resource.Plugin{
		protect(corev1.Resource("persistentvolumeclaims"), "kubernetes.io/pvc-protection"),
		protect(corev1.Resource("persistentvolumes"), "kubernetes.io/pv-protection"),
		protect(storagev1.Resource("volumeattributesclasses"), "kubernetes.io/vac-protection"),
	}
}

func protect(of schema.GroupResource, finalizer string) resource.Plugin {
	mutate := func(_ context.Context, obj runtime.Object) error {
		m := obj.(metav1.Object)
		if finalizers := m.GetFinalizers(); !slices.Contains(finalizers, finalizer) {
			m.SetFinalizers(append(finalizers, finalizer))
		}
		return nil
	}
	return resource.Plugin{Name: Name, Resource: of, Mutate: resource.OnCreate(mutate)}
}
