package validation

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crd-server/crd-server/internal/objectjson"
)

// PrepareForCreate sets the generation of a new object to 1 (W13) and removes the status if it is a subresource (S1).
func (v *Version) PrepareForCreate(obj *unstructured.Unstructured) {
	if v.HasStatus() {
		delete(obj.Object, "status")
	}
	obj.SetGeneration(1)
}

// PrepareForUpdate restores the old status if it is a subresource (S1), and increments the generation if anything but
// metadata changes (W13). The two objects may share the status afterwards.
func (v *Version) PrepareForUpdate(obj, old *unstructured.Unstructured) {
	if v.HasStatus() {
		if status, ok := old.Object["status"]; ok {
			obj.Object["status"] = status
		} else {
			delete(obj.Object, "status")
		}
	}
	if !sameExceptMetadata(obj.Object, old.Object) {
		obj.SetGeneration(old.GetGeneration() + 1)
	}
}

// PrepareForStatusUpdate restores everything but the status and the managed fields (S1). The two objects may share the
// restored values afterwards, but not metadata itself.
func (v *Version) PrepareForStatusUpdate(obj, old *unstructured.Unstructured) {
	restored := unstructured.Unstructured{Object: maps.Clone(old.Object)}
	if metadata, ok := old.Object["metadata"].(map[string]any); ok {
		restored.Object["metadata"] = maps.Clone(metadata)
	}
	moveManagedFields(&restored, obj)
	if status, ok := obj.Object["status"]; ok {
		restored.Object["status"] = status
	} else {
		delete(restored.Object, "status")
	}
	*obj = restored
}

// moveManagedFields copies the managed fields of from to to. Canonical ones need no conversion.
func moveManagedFields(to, from *unstructured.Unstructured) {
	fields, _, _ := unstructured.NestedFieldNoCopy(from.Object, "metadata", "managedFields")
	metadata, ok := to.Object["metadata"].(map[string]any)
	if ok && canonicalList(fields, canonicalManager) {
		metadata["managedFields"] = fields
		return
	}
	to.SetManagedFields(from.GetManagedFields())
}

// sameExceptMetadata compares all fields of two objects but their metadata.
func sameExceptMetadata(a, b map[string]any) bool {
	for name, value := range a {
		if other, ok := b[name]; name != "metadata" && (!ok || !objectjson.Equal(value, other)) {
			return false
		}
	}
	for name := range b {
		if _, ok := a[name]; name != "metadata" && !ok {
			return false
		}
	}
	return true
}
