package managedfields

import (
	"context"
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/handlers/fieldmanager"
	"k8s.io/apiserver/pkg/endpoints/metrics"

	"github.com/crd-server/crd-server/internal/objectjson"
)

// KeepTimestamps returns obj with the times of old's managed fields if obj differs from old only in those: that is
// not a change. The library decides. It compares managed fields first, which is expensive, so objects that differ
// otherwise are not passed to it.
func KeepTimestamps(ctx context.Context, obj, old runtime.Object) (runtime.Object, error) {
	start := time.Now()
	if fastPaths && DiffersOtherwise(obj, old) {
		metrics.RecordTimestampComparisonLatency("unequal_objects_fast", time.Since(start))
		return obj, nil
	}
	return fieldmanager.IgnoreManagedFieldsTimestampsTransformer(ctx, obj, old)
}

// DiffersOtherwise reports whether two unstructured objects differ in more than their managed fields.
func DiffersOtherwise(obj, old runtime.Object) bool {
	a, ok := obj.(*unstructured.Unstructured)
	b, ok2 := old.(*unstructured.Unstructured)
	return ok && ok2 && !objectjson.Equal(withoutManagedFields(a.Object), withoutManagedFields(b.Object))
}

// withoutManagedFields returns an object without managed fields that shares everything else with obj.
func withoutManagedFields(obj map[string]any) map[string]any {
	metadata, ok := obj["metadata"].(map[string]any)
	if !ok {
		return obj
	}
	metadata, obj = maps.Clone(metadata), maps.Clone(obj)
	delete(metadata, "managedFields")
	obj["metadata"] = metadata
	return obj
}

// ForValidation returns the metadata of an object for validation. The validation of managed fields does not look at
// fieldsV1, and to decode it is most of the work of GetManagedFields on an unstructured object.
func ForValidation(m metav1.Object) metav1.Object {
	obj, ok := m.(*unstructured.Unstructured)
	if !ok || !fastPaths {
		return m
	}
	entries, _ := managedFieldsOf(obj.Object).([]any)
	bare := make([]any, len(entries))
	for i, entry := range entries {
		members, ok := entry.(map[string]any)
		if !ok {
			return m
		}
		if _, ok := members["fieldsV1"].(map[string]any); ok {
			members = maps.Clone(members)
			delete(members, "fieldsV1")
		}
		bare[i] = members
	}
	stripped := unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"managedFields": bare}}}
	return withoutSets{obj, stripped.GetManagedFields()}
}

// withoutSets is an unstructured object whose managed fields lack fieldsV1.
type withoutSets struct {
	*unstructured.Unstructured
	managedFields []metav1.ManagedFieldsEntry
}

func (o withoutSets) GetManagedFields() []metav1.ManagedFieldsEntry { return o.managedFields }
