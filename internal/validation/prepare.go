package validation

import (
	"maps"
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
	if !equalExcept("metadata", obj.Object, old.Object) {
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

// SameExceptManagedFields reports whether two objects are the same except for their managed fields.
func SameExceptManagedFields(a, b map[string]any) bool {
	inA, ok := a["metadata"].(map[string]any)
	inB, ok2 := b["metadata"].(map[string]any)
	return ok && ok2 && equalExcept("managedFields", inA, inB) && equalExcept("metadata", a, b)
}

// equalExcept compares the fields of two objects except for one.
func equalExcept(field string, a, b map[string]any) bool {
	if countExcept(field, a) != countExcept(field, b) {
		return false
	}
	for key, value := range a {
		if key == field {
			continue
		}
		other, ok := b[key]
		if !ok || !sameJSON(value, other) {
			return false
		}
	}
	return true
}

// sameJSON is apiequality.Semantic.DeepEqual for JSON values, without reflection.
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

// countExcept returns the number of fields other than one.
func countExcept(field string, obj map[string]any) int {
	if _, ok := obj[field]; ok {
		return len(obj) - 1
	}
	return len(obj)
}
