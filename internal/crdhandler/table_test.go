package crdhandler

import (
	"fmt"
	"reflect"
	"testing"

	metainternal "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestTableOfManyObjects compares a Table made chunk by chunk with one made of the whole list.
func TestTableOfManyObjects(t *testing.T) {
	r := newReading(t)
	tableKind := metav1.SchemeGroupVersion.WithKind("Table")
	rows := 0
	for _, objects := range []int{0, 3, tableChunk, tableChunk + 1, 2*tableChunk + 50} {
		for ; rows < objects; rows++ {
			r.put(fmt.Sprintf("ns/g%05d", rows), "red")
		}
		p, err := r.scope.readPage(t.Context(), "ns", &metainternal.ListOptions{}, r.scope.views)
		if err != nil {
			t.Fatal(err)
		}
		for _, include := range []metav1.IncludeObjectPolicy{metav1.IncludeMetadata, metav1.IncludeObject, metav1.IncludeNone} {
			transformer := r.scope.transformer(&tableKind, &metav1.TableOptions{IncludeObject: include})
			got, err := transformer.tableOfPage(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			list, err := r.scope.listObject(p)
			if err != nil {
				t.Fatal(err)
			}
			want, err := transformer.table(t.Context(), list)
			if err != nil {
				t.Fatal(err)
			}
			if len(want.Rows) != objects || !reflect.DeepEqual(got, want) {
				t.Errorf("%d objects, %s: got %d rows %v", objects, include, len(got.(*metav1.Table).Rows), got)
			}
		}
	}
}
