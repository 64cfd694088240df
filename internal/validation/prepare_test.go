package validation

import (
	"testing"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestPrepareForStatusUpdateShares tests that what is done to an object's metadata later does not reach the old one.
func TestPrepareForStatusUpdateShares(t *testing.T) {
	t.Parallel()
	obj, old := machine(t), machine(t)
	New(readCRD(t, "machines")).Version("v1").PrepareForStatusUpdate(obj, old)
	obj.SetLabels(map[string]string{"new": "label"})
	obj.SetManagedFields(nil)
	obj.SetResourceVersion("")
	if !apiequality.Semantic.DeepEqual(old.Object, machine(t).Object) {
		t.Error("the old object has changed")
	}
	unstructured.RemoveNestedField(old.Object, "metadata", "labels")
	if obj.GetLabels()["new"] == "" {
		t.Error("the new object has changed")
	}
}
