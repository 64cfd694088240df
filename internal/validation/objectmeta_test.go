package validation

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
)

const fullMeta = `{name: one, generateName: g, namespace: d, uid: u, resourceVersion: "7", generation: 3,
	creationTimestamp: "2026-01-01T00:00:00Z", deletionTimestamp: "2026-01-02T00:00:00Z", deletionGracePeriodSeconds: 30,
	labels: {a: b, c: d}, annotations: {e: f}, finalizers: [x/y],
	ownerReferences: [{apiVersion: v1, kind: K, name: o, uid: p, controller: true, blockOwnerDeletion: false}],
	managedFields: [{manager: m, operation: Apply, apiVersion: v1, time: "2026-01-01T00:00:00Z", fieldsType: FieldsV1, subresource: status, fieldsV1: {"f:a": {}}}]}`

// comparePlain holds metadata that plainObjectMeta reads against what the library reads, and returns whether it does.
func comparePlain(t testing.TB, fields map[string]any) bool {
	t.Helper()
	got, ok := plainObjectMeta(fields)
	if !ok {
		return false
	}
	want := &metav1.ObjectMeta{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, want); err != nil {
		t.Fatalf("the library refuses %v: %v", fields, err)
	}
	for i := range want.ManagedFields {
		want.ManagedFields[i].FieldsV1 = nil
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%v (-library +plain):\n%s", fields, diff)
	}
	return true
}

func TestPlainObjectMeta(t *testing.T) {
	full := object(t, fullMeta)
	if !comparePlain(t, full) {
		t.Error("what the server writes should be plain")
	}
	random := rand.New(rand.NewPCG(9, 10))
	plain := 0
	for range 20_000 {
		if comparePlain(t, mutate(random, &unstructured.Unstructured{Object: full}, random.IntN(3)).Object) {
			plain++
		}
	}
	if plain < 5_000 {
		t.Errorf("only %d of 20000 are plain", plain)
	}
}

func FuzzPlainObjectMeta(f *testing.F) {
	full, err := json.Marshal(object(f, fullMeta))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(full)
	f.Fuzz(func(t *testing.T, data []byte) {
		fields := map[string]any{}
		if json.Unmarshal(data, &fields) == nil && fields != nil {
			comparePlain(t, fields)
		}
	})
}
