package validation

import (
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
// status (S1).
func (v *Version) PrepareForStatusUpdate(obj, old *unstructured.Unstructured) {
	status, ok := obj.Object["status"]
	managedFields := obj.GetManagedFields()

	*obj = *old.DeepCopy()
	obj.SetManagedFields(managedFields)
	if ok {
		obj.Object["status"] = status
	} else {
		delete(obj.Object, "status")
	}
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
		if !ok || !apiequality.Semantic.DeepEqual(value, other) {
			return false
		}
	}
	return true
}

// withoutMetadata counts the fields beside the metadata.
func withoutMetadata(obj map[string]any) int {
	if _, ok := obj["metadata"]; ok {
		return len(obj) - 1
	}
	return len(obj)
}
