package resource

import (
	"encoding/json"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// NewStorage returns the storage of served objects in another version, to which stored belongs, whose fields are the
// same in JSON. kube-apiserver stores a kind in its last beta version for some releases, so that older ones can read
// it.
func NewStorage(version schema.GroupVersion, served, stored runtime.Object) *Storage {
	from, to := reflect.TypeOf(served).Elem(), reflect.TypeOf(stored).Elem()
	return &Storage{
		GroupVersion: version, Kind: to.Name(), Object: stored,
		Encode: func(obj runtime.Object) (runtime.Object, error) { return transcode(obj, to) },
		Decode: func(obj runtime.Object) (runtime.Object, error) { return transcode(obj, from) },
	}
}

// transcode returns an object as one of a type.
func transcode(obj runtime.Object, to reflect.Type) (runtime.Object, error) {
	if reflect.TypeOf(obj).Elem() == to {
		return obj, nil
	}
	encoded, err := json.Marshal(obj)
	if err != nil {
		return nil, fmt.Errorf("encoding %T: %w", obj, err)
	}
	out := reflect.New(to).Interface().(runtime.Object)
	if err := json.Unmarshal(encoded, out); err != nil {
		return nil, fmt.Errorf("decoding %s: %w", to, err)
	}
	return out, nil
}
