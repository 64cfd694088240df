package resource

import (
	"encoding/json"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
)

// NewStorage returns the storage of served objects in the version of stored, whose fields are the same in JSON.
// kube-apiserver stores a kind in its last beta version for some releases, so that older ones can read it.
func NewStorage(served, stored runtime.Object) *Storage {
	return &Storage{
		Object: stored,
		Encode: func(obj runtime.Object) (runtime.Object, error) { return As(obj, stored) },
		Decode: func(obj runtime.Object) (runtime.Object, error) { return As(obj, served) },
	}
}

// As returns an object as one of the Go type of another, which has the same fields in JSON. It returns obj itself if
// that is its type.
func As(obj, other runtime.Object) (runtime.Object, error) {
	to := reflect.TypeOf(other)
	if reflect.TypeOf(obj) == to {
		return obj, nil
	}
	out := reflect.New(to.Elem()).Interface().(runtime.Object)
	return out, Transcode(obj, out)
}

// Transcode sets the fields of out that from has too, by their names in JSON.
func Transcode(from, out any) error {
	encoded, err := json.Marshal(from)
	if err != nil {
		return fmt.Errorf("encoding %T: %w", from, err)
	}
	if err := json.Unmarshal(encoded, out); err != nil {
		return fmt.Errorf("decoding %T: %w", out, err)
	}
	return nil
}
