package crdhandler

import (
	"context"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/handlers/fieldmanager"
	"k8s.io/apiserver/pkg/endpoints/metrics"
)

// keepTimestamps returns obj with the times of old's managed fields where nothing but those times would change: that is no
// change. The library decides it. It compares managed fields first, which is most of the work, and only objects that
// are equal otherwise need that.
func keepTimestamps(ctx context.Context, obj, old runtime.Object) (runtime.Object, error) {
	start := time.Now()
	if changedBesidesManagedFields(obj, old) {
		metrics.RecordTimestampComparisonLatency("unequal_objects_fast", time.Since(start))
		return obj, nil
	}
	return fieldmanager.IgnoreManagedFieldsTimestampsTransformer(ctx, obj, old)
}

// changedBesidesManagedFields says whether two unstructured objects differ in something else than managed fields.
func changedBesidesManagedFields(obj, old runtime.Object) bool {
	a, ok := obj.(*unstructured.Unstructured)
	b, ok2 := old.(*unstructured.Unstructured)
	return ok && ok2 && !sameMembers(a.Object, b.Object, []string{"metadata", "managedFields"})
}

// sameMembers says whether two objects of JSON are equal, whatever they have at the path except.
func sameMembers(a, b map[string]any, except []string) bool {
	if len(a) != len(b) {
		return false
	}
	for name, value := range a {
		other, ok := b[name]
		if !ok {
			return false
		}
		if len(except) == 0 || name != except[0] {
			if !sameJSON(value, other) {
				return false
			}
			continue
		}
		members, ok := value.(map[string]any)
		others, ok2 := other.(map[string]any)
		if len(except) > 1 && ok && ok2 && !sameMembers(members, others, except[1:]) {
			return false
		}
	}
	return true
}

// sameJSON is reflect.DeepEqual for what JSON is decoded into.
func sameJSON(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && sameMembers(a, b, nil)
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !sameJSON(a[i], b[i]) {
				return false
			}
		}
		return true
	case string:
		b, ok := b.(string)
		return ok && a == b
	case int64:
		b, ok := b.(int64)
		return ok && a == b
	}
	return reflect.DeepEqual(a, b)
}
