package managedfields

import (
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestForValidation checks that validation sees managed fields as they are, except for their sets.
func TestForValidation(t *testing.T) {
	t.Parallel()
	sets := map[string]any{"f:spec": map[string]any{}}
	for name, managedFields := range map[string]any{
		"none": nil, "no list": "text", "empty": []any{}, "no entry": []any{"text"}, "null": []any{nil},
		"usual": []any{map[string]any{
			"manager": "a", "operation": "Update", "apiVersion": "v1", "time": "2026-01-01T00:00:00Z",
			"fieldsType": "FieldsV1", "fieldsV1": sets,
		}},
		"unknown member": []any{map[string]any{"other": "a"}},
		"wrong type":     []any{map[string]any{"manager": int64(1), "fieldsV1": sets}},
		"no sets":        []any{map[string]any{"manager": "a"}, map[string]any{"fieldsV1": "text"}},
	} {
		t.Run(name, func(t *testing.T) {
			obj := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"managedFields": managedFields}}}
			want, got := obj.GetManagedFields(), ForValidation(obj).GetManagedFields()
			for i := range want {
				if fastPaths && managedFields.([]any)[i].(map[string]any)["fieldsV1"] != "text" {
					want[i].FieldsV1 = nil
				}
			}
			if len(got) != len(want) || len(got) > 0 && !reflect.DeepEqual(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}
