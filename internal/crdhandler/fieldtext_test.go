package crdhandler

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// manyFields is the text of a set with a list of so many elements, in JSON's order.
func manyFields(t testing.TB, element string, count int) []byte {
	t.Helper()
	list := make(map[string]any, count)
	for i := range count {
		list[fmt.Sprintf(element, i)] = map[string]any{}
	}
	text, err := utiljson.Marshal(map[string]any{"f:spec": map[string]any{"f:list": list, ".": map[string]any{}}})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestFieldsAreInOrder: whatever the order that fields were sent in, the library reads the same set of them, and meets it in its own order.
func TestFieldsAreInOrder(t *testing.T) {
	for name, element := range map[string]string{
		"values": "v:-%d", "keys": `k:{"name":-%d}`, "places": "i:%d", "names": "f:a%d", "texts": `v:"a%d"`, "none": "x:%d",
	} {
		t.Run(name, func(t *testing.T) {
			sent := manyFields(t, element, 5000)
			entries := []metav1.ManagedFieldsEntry{{Manager: "a", FieldsV1: &metav1.FieldsV1{}}, {Manager: "b"}}
			entries[0].FieldsV1.SetRawBytes(sent)
			ordered := inFieldOrder(entries)
			if !bytes.Equal(entries[0].FieldsV1.GetRawBytes(), sent) {
				t.Error("what was given is modified")
			}
			if ordered[0].Manager != "a" || ordered[1].Manager != "b" || ordered[1].FieldsV1 != nil {
				t.Errorf("%+v", ordered)
			}
			text := ordered[0].FieldsV1.GetRawBytes()
			var want, got fieldpath.Set
			if err := want.FromJSON(bytes.NewReader(sent)); err != nil {
				t.Fatal(err)
			}
			if err := got.FromJSON(bytes.NewReader(text)); err != nil || !got.Equals(&want) {
				t.Fatalf("another set: %v", err)
			}
			if name == "none" {
				return // the library forgets them
			}
			written, err := want.ToJSON()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(written), string(text)); diff != "" {
				t.Errorf("not in the order of the library: %.1000s", diff)
			}
		})
	}
}

// TestLittleIsLeftInItsOrder, and so is what cannot be read.
func TestLittleIsLeftInItsOrder(t *testing.T) {
	for _, text := range []string{`{"v:2":{},"v:10":{}}`, strings.Repeat("{", maxSetBytes+1), "null" + strings.Repeat(" ", maxSetBytes)} {
		entry := metav1.ManagedFieldsEntry{FieldsV1: &metav1.FieldsV1{}}
		entry.FieldsV1.SetRawBytes([]byte(text))
		if got := inFieldOrder([]metav1.ManagedFieldsEntry{entry}); string(got[0].FieldsV1.GetRawBytes()) != text {
			t.Errorf("%.20s became %.20s", text, got[0].FieldsV1.GetRawBytes())
		}
	}
}

// TestManagedObjectsAreInOrder: both those that the server writes and those that only the library reads.
func TestManagedObjectsAreInOrder(t *testing.T) {
	for name, more := range map[string]any{"usual": "a", "unusual": int64(1)} {
		var fields map[string]any
		if err := utiljson.Unmarshal(manyFields(t, "v:-%d", 5000), &fields); err != nil {
			t.Fatal(err)
		}
		obj := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"managedFields": []any{map[string]any{
			"manager": "a", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": fields, "subresource": more,
		}}}}}
		if name == "unusual" {
			delete(obj.Object["metadata"].(map[string]any)["managedFields"].([]any)[0].(map[string]any), "subresource")
			obj.Object["metadata"].(map[string]any)["managedFields"].([]any)[0].(map[string]any)["other"] = more
		}
		entries := managed(t.Context(), obj).GetManagedFields()
		if len(entries) != 1 {
			t.Fatalf("%s: %d entries", name, len(entries))
		}
		first, last := bytes.Index(entries[0].FieldsV1.GetRawBytes(), []byte(`"v:-4999"`)), bytes.Index(entries[0].FieldsV1.GetRawBytes(), []byte(`"v:-1"`))
		if first < 0 || first > last {
			t.Errorf("%s: -4999 is at %d, -1 at %d", name, first, last)
		}
	}
}
