package managedfields

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ForValidation returns the metadata of an object for validation. The validation of managed fields does not look at
// fieldsV1, and to decode it is most of the work of GetManagedFields on an unstructured object.
func ForValidation(m metav1.Object) metav1.Object {
	if obj, ok := m.(*unstructured.Unstructured); ok && fastPaths {
		return withoutSets{obj}
	}
	return m
}

// withoutSets is an unstructured object whose GetManagedFields leaves fieldsV1 out.
type withoutSets struct{ *unstructured.Unstructured }

func (o withoutSets) GetManagedFields() []metav1.ManagedFieldsEntry {
	entries, _ := managedFieldsOf(o.Object).([]any)
	bare := make([]any, len(entries))
	for i, entry := range entries {
		members, ok := entry.(map[string]any)
		if !ok {
			return o.Unstructured.GetManagedFields()
		}
		if _, ok := members["fieldsV1"].(map[string]any); ok {
			members = maps.Clone(members)
			delete(members, "fieldsV1")
		}
		bare[i] = members
	}
	obj := unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"managedFields": bare}}}
	return obj.GetManagedFields()
}
