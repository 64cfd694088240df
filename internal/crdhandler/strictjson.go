package crdhandler

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	kjson "sigs.k8s.io/json"
)

// strictDecoder finds unknown and duplicate fields, and returns them as a strict decoding error beside the object.
type strictDecoder interface {
	runtime.Decoder
	IsStrict() bool
}

// strictJSON is the library's strict serializer of JSON, but for one thing: that one reads a body for its kind first, and then
// once more for the rest.
type strictJSON struct{ *json.Serializer }

var _ strictDecoder = strictJSON{}

// Decode reads an unstructured object. All that is not as usual it leaves to the library, whose errors clients know.
func (d strictJSON) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	if u, ok := into.(*unstructured.Unstructured); ok {
		members := map[string]any{}
		found, err := kjson.UnmarshalStrict(data, &members)
		if gvk, ok := kindOf(members); err == nil && ok {
			u.SetUnstructuredContent(members)
			return u, &gvk, strictError(found)
		}
	}
	return d.Serializer.Decode(data, defaults, into)
}

// kindOf returns the kind that an object says it is of; false where the library might see another one, or none: it takes names in
// any case for the same.
func kindOf(members map[string]any) (schema.GroupVersionKind, bool) {
	for name := range members {
		if name != "kind" && name != "apiVersion" && (strings.EqualFold(name, "kind") || strings.EqualFold(name, "apiVersion")) {
			return schema.GroupVersionKind{}, false
		}
	}
	kind, _ := members["kind"].(string)
	apiVersion, _ := members["apiVersion"].(string)
	gv, err := schema.ParseGroupVersion(apiVersion)
	return gv.WithKind(kind), err == nil && kind != "" && gv.Version != ""
}

func strictError(found []error) error {
	if len(found) == 0 {
		return nil
	}
	return runtime.NewStrictDecodingError(found)
}

// decodedJSON stands in for a serializer where an object is read already.
type decodedJSON struct {
	members map[string]any
	strict  bool
}

var _ strictDecoder = decodedJSON{}

func (d decodedJSON) IsStrict() bool { return d.strict }

// Decode gives the object to into, which is unstructured. The bytes do not matter.
func (d decodedJSON) Decode(_ []byte, _ *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	into.(runtime.Unstructured).SetUnstructuredContent(d.members)
	gvk := into.GetObjectKind().GroupVersionKind()
	return into, &gvk, nil
}
