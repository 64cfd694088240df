package crdhandler

import (
	"fmt"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
)

// FuzzStrictJSON compares the serializer of bodies with the library's.
func FuzzStrictJSON(f *testing.F) {
	for _, body := range []string{
		machine("m", 1), `{}`, `null`, `[]`, `{"kind":"A"}`, `{"apiVersion":"v1"}`, `{"kind":"A","apiVersion":"a/b/c"}`, `{"kind":"A","apiVersion":"a/"}`,
		`{"kind":"A","apiVersion":"/v1"}`, `{"kind":1,"apiVersion":"v1"}`, `{"kind":"A","apiVersion":"v1","Kind":2}`, `{"kind":"A","apiVersion":"v1","APIVERSION":"a/b/c"}`,
		"{\"kind\":\"A\",\"apiVersion\":\"v1\",\"\u212aind\":1}", `{"kind":"A","kind":"B","apiVersion":"v1","a":{"b":1,"b":2}}`, `{"kind":"A","apiVersion":"v1"}}`, `{"kind":null,"apiVersion":"v1"}`,
		`{"kind":"A","apiVersion":"v1","metadata":null}`, `{"kind":"A","apiVersion":"v1","items":[1]}`, `{"kind":"A","apiVersion":1}`, ``,
	} {
		f.Add([]byte(body))
	}
	library := json.NewSerializerWithOptions(json.DefaultMetaFactory, unstructuredCreater{}, unstructuredTyper{}, json.SerializerOptions{Strict: true})
	kind := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Machine"}
	f.Fuzz(func(t *testing.T, body []byte) {
		into, wantInto := &unstructured.Unstructured{}, &unstructured.Unstructured{}
		got, gvk, err := strictJSON{library}.Decode(body, &kind, into)
		want, wantGVK, wantErr := library.Decode(body, &kind, wantInto)
		if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(gvk, wantGVK) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Errorf("%q: got %v %v %v, want %v %v %v", body, got, gvk, err, want, wantGVK, wantErr)
		}
		if err != nil && reflect.TypeOf(err) != reflect.TypeOf(wantErr) {
			t.Errorf("%q: got a %T, want a %T", body, err, wantErr)
		}
	})
}
