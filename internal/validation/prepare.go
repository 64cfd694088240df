package validation

import (
	"maps"
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// PrepareForCreate makes a new object begin at generation 1, without a status where that is a subresource (S1, W13).
func (v *Version) PrepareForCreate(obj *unstructured.Unstructured) {
	if v.HasStatus() {
		delete(obj.Object, "status")
	}
	obj.SetGeneration(1)
}

// PrepareForUpdate restores the old status where that is a subresource (S1), and counts the generation up if anything
// else than metadata changes (W13). The two objects may share the status afterwards.
func (v *Version) PrepareForUpdate(obj, old *unstructured.Unstructured) {
	if v.HasStatus() {
		if status, ok := old.Object["status"]; ok {
			obj.Object["status"] = status
		} else {
			delete(obj.Object, "status")
		}
	}
	if !equalButForMetadata(obj.Object, old.Object) {
		obj.SetGeneration(old.GetGeneration() + 1)
	}
}

// PrepareForStatusUpdate restores everything but the status and the managed fields, which have tracked the write of the
// status (S1). The two objects may share what is restored afterwards, but for metadata itself.
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

// moveManagedFields gives an object the managed fields of another one. Mostly they can go as they are, as reading and writing
// them would not change them.
func moveManagedFields(to, from *unstructured.Unstructured) {
	fields, _, _ := unstructured.NestedFieldNoCopy(from.Object, "metadata", "managedFields")
	metadata, ok := to.Object["metadata"].(map[string]any)
	if ok && canonicalList(fields, canonicalManager) {
		metadata["managedFields"] = fields
		return
	}
	to.SetManagedFields(from.GetManagedFields())
}

func equalButForMetadata(a, b map[string]any) bool {
	if withoutMetadata(a) != withoutMetadata(b) {
		return false
	}
	for key, value := range a {
		if key == "metadata" {
			continue
		}
		other, ok := b[key]
		if !ok || !sameJSON(value, other) {
			return false
		}
	}
	return true
}

// sameJSON says whether two values are equal, as apimachinery compares objects: an empty list or object equals a nil one.
func sameJSON(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for key, value := range a {
			if other, ok := b[key]; !ok || !sameJSON(value, other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, sameJSON)
	case nil, string, bool, int64, float64:
		return a == b
	}
	return apiequality.Semantic.DeepEqual(a, b)
}

// withoutMetadata counts the fields beside the metadata.
func withoutMetadata(obj map[string]any) int {
	if _, ok := obj["metadata"]; ok {
		return len(obj) - 1
	}
	return len(obj)
}
