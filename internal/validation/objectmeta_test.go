package validation

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

const fullMeta = `{name: one, generateName: g, namespace: d, uid: u, resourceVersion: "7", generation: 3,
	creationTimestamp: "2026-01-01T00:00:00Z", deletionTimestamp: "2026-01-02T00:00:00Z", deletionGracePeriodSeconds: 30,
	labels: {a: b, c: d}, annotations: {e: f}, finalizers: [x/y],
	ownerReferences: [{apiVersion: v1, kind: K, name: o, uid: p, controller: true, blockOwnerDeletion: false}],
	managedFields: [{manager: m, operation: Apply, apiVersion: v1, time: "2026-01-01T00:00:00Z", fieldsType: FieldsV1,
	  subresource: status, fieldsV1: {"f:a": {}}},
		{manager: other, operation: Update, fieldsV1: {"f:b": {}}}]}`

// TestObjectMeta tests that metadata is decoded or refused like the library does, except that valid entries of managed
// fields lose their sets.
func TestObjectMeta(t *testing.T) {
	t.Parallel()
	full := object(t, fullMeta)
	random := rand.New(rand.NewPCG(9, 10))
	stripped := 0
	for range 5_000 {
		fields := mutate(random, &unstructured.Unstructured{Object: full}, random.IntN(3)).Object
		before := runtime.DeepCopyJSON(fields)
		got, errs := objectMeta(&unstructured.Unstructured{Object: map[string]any{"metadata": fields}})
		want := &metav1.ObjectMeta{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, want); err != nil {
			if len(errs) != 1 || errs[0].Detail != err.Error() {
				t.Fatalf("%v: the library returns %v, we %v", fields, err, errs)
			}
			continue
		}
		if len(errs) > 0 {
			t.Fatalf("%v: %v", fields, errs)
		}
		valid := true
		for i := range want.ManagedFields {
			operation := want.ManagedFields[i].Operation
			valid = valid && (operation == metav1.ManagedFieldsOperationApply ||
				operation == metav1.ManagedFieldsOperationUpdate)
		}
		if valid && len(want.ManagedFields) > 0 {
			stripped++
			for i := range want.ManagedFields {
				want.ManagedFields[i].FieldsV1 = nil
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%v (-library +ours):\n%s", fields, diff)
		}
		if diff := cmp.Diff(before, fields); diff != "" {
			t.Fatalf("the object was modified:\n%s", diff)
		}
	}
	if stripped < 1_000 {
		t.Errorf("only %d of 5000 have valid managed fields", stripped)
	}
}
