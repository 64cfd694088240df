package managedfields

import (
	"context"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/handlers/fieldmanager"
	"k8s.io/apiserver/pkg/endpoints/metrics"
)

// KeepTimestamps returns obj with the times of old's managed fields if obj differs from old only in those: that is
// not a change. The library decides. It compares managed fields first, which is expensive, so objects that differ
// otherwise are not passed to it.
func KeepTimestamps(ctx context.Context, obj, old runtime.Object) (runtime.Object, error) {
	start := time.Now()
	if fastPaths && differs(obj, old) {
		metrics.RecordTimestampComparisonLatency("unequal_objects_fast", time.Since(start))
		return obj, nil
	}
	return fieldmanager.IgnoreManagedFieldsTimestampsTransformer(ctx, obj, old)
}

// differs reports whether two unstructured objects differ in more than their managed fields.
func differs(obj, old runtime.Object) bool {
	a, ok := obj.(*unstructured.Unstructured)
	b, ok2 := old.(*unstructured.Unstructured)
	return ok && ok2 && !equalJSON(withoutManagedFields(a.Object), withoutManagedFields(b.Object))
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
