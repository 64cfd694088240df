package crdhandler

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"

	metainternal "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
)

// TestTableOfManyObjects compares a Table that is made in chunks of 200 objects with a Table of the whole list.
func TestTableOfManyObjects(t *testing.T) {
	t.Parallel()
	r := newReading(t)
	tableKind := metav1.SchemeGroupVersion.WithKind("Table")
	rows := 0
	for _, objects := range []int{0, 3, 200, 201, 450} {
		for ; rows < objects; rows++ {
			r.put(fmt.Sprintf("ns/g%05d", rows), "red")
		}
		p, err := r.scope.readPage(t.Context(), "ns", &metainternal.ListOptions{}, r.scope.Objects.Viewer.Views)
		if err != nil {
			t.Fatal(err)
		}
		for _, include := range []metav1.IncludeObjectPolicy{metav1.IncludeMetadata, metav1.IncludeObject,
			metav1.IncludeNone} {
			req := httptest.NewRequest(http.MethodGet, "/?includeObject="+string(include), nil)
			printer, err := r.scope.printing().NewPrinter(&negotiation.MediaTypeOptions{Convert: &tableKind}, req)
			if err != nil {
				t.Fatal(err)
			}
			got, err := printer.Page(t.Context(), p, r.scope.listObject)
			if err != nil {
				t.Fatal(err)
			}
			list, err := r.scope.listObject(p)
			if err != nil {
				t.Fatal(err)
			}
			want, err := printer.Object(t.Context(), list)
			if err != nil {
				t.Fatal(err)
			}
			if len(want.(*metav1.Table).Rows) != objects || !reflect.DeepEqual(got, want) {
				t.Errorf("%d objects, %s: got %d rows %v", objects, include, len(got.(*metav1.Table).Rows), got)
			}
		}
	}
}
