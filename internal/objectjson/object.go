package objectjson

import (
	"errors"
	"reflect"
	"slices"

	kjson "sigs.k8s.io/json"
)

// ErrNoMetadata says that an object has no metadata beside which a resourceVersion could stand.
var ErrNoMetadata = errors.New("object has no metadata")

// MarshalObject returns the JSON of an object without its resourceVersion and selfLink, followed by a newline as
// upstream stores it. The member resourceVersion and a comma belong at offset at: where the sorted names put it, or
// first if the metadata has no uid, because then no other member is sure to follow it. MarshalObject does not modify
// obj.
func MarshalObject(obj map[string]any) (value []byte, at int, err error) {
	metadata, ok := obj["metadata"].(map[string]any)
	if !ok {
		return nil, 0, ErrNoMetadata
	}
	empty := true
	for name := range metadata {
		empty = empty && omitted(name)
	}
	if empty {
		return nil, 0, ErrNoMetadata
	}
	return marshalObject(obj, metadata)
}

// omitted says whether MarshalObject leaves out a member of the metadata.
func omitted(name string) bool { return name == "selfLink" || name == "resourceVersion" }

// UnmarshalStrict decodes an object. ok is false if text is not an object or has duplicate fields.
func UnmarshalStrict(text []byte) (members map[string]any, ok bool) {
	duplicates, err := kjson.UnmarshalStrict(text, &members)
	return members, err == nil && len(duplicates) == 0 && members != nil
}

// Equal is reflect.DeepEqual for decoded JSON, without reflection for the usual types.
func Equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name, value := range a {
			if other, ok := b[name]; !ok || !Equal(value, other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, Equal)
	case string:
		b, ok := b.(string)
		return ok && a == b
	case int64:
		b, ok := b.(int64)
		return ok && a == b
	}
	return reflect.DeepEqual(a, b)
}
