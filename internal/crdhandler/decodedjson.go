package crdhandler

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// strictDecoder finds unknown and duplicate fields, and returns them as a strict decoding error beside the object.
type strictDecoder interface {
	runtime.Decoder
	IsStrict() bool
}

// decodedJSON is the decoder of an object that is decoded already.
type decodedJSON struct {
	members map[string]any
	strict  bool
}

var _ strictDecoder = decodedJSON{}

func (d decodedJSON) IsStrict() bool { return d.strict }

// Decode sets the content of into, which is unstructured. It ignores the bytes.
func (d decodedJSON) Decode(_ []byte, _ *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	into.(runtime.Unstructured).SetUnstructuredContent(d.members)
	gvk := into.GetObjectKind().GroupVersionKind()
	return into, &gvk, nil
}
