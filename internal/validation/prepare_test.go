package validation

import (
	"math/rand/v2"
	"testing"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crd-server/crd-server/internal/objectjson"
)

func TestEqualJSON(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(15, 16))
	same := 0
	for range 5_000 {
		a := randomObject(t, random, "Widget", "v1")
		b := mutate(random, a, random.IntN(2))
		want, got := apiequality.Semantic.DeepEqual(a.Object, b.Object), objectjson.Equal(a.Object, b.Object)
		if want != got {
			t.Fatalf("%v\n%v\napimachinery says %t", a.Object, b.Object, want)
		}
		if got {
			same++
		}
	}
	if same < 1_000 || same > 4_000 {
		t.Errorf("%d of 5000 are the same", same)
	}
	for _, tc := range []struct{ a, b any }{
		{map[string]any(nil), map[string]any{}}, {[]any(nil), []any{}}, {int64(1), 1.0}, {int64(1), int(1)}, {int(1), int(1)},
		{nil, []any{}}, {"", nil},
	} {
		if want, got := apiequality.Semantic.DeepEqual(tc.a, tc.b), objectjson.Equal(tc.a, tc.b); want != got {
			t.Errorf("%#v and %#v: %t", tc.a, tc.b, got)
		}
	}
}

// TestPrepareForStatusUpdateShares tests that what is done to an object's metadata later does not reach the old one.
func TestPrepareForStatusUpdateShares(t *testing.T) {
	t.Parallel()
	obj, old := machine(t), machine(t)
	newSet(readCRD(t, "machines")).Version("v1").PrepareForStatusUpdate(obj, old)
	obj.SetLabels(map[string]string{"new": "label"})
	obj.SetManagedFields(nil)
	obj.SetResourceVersion("")
	if !objectjson.Equal(old.Object, machine(t).Object) {
		t.Error("the old object has changed")
	}
	unstructured.RemoveNestedField(old.Object, "metadata", "labels")
	if obj.GetLabels()["new"] == "" {
		t.Error("the new object has changed")
	}
}
