package validation

import (
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// ErrTooLarge is met when an object is much larger with its defaults than etcd takes.
var ErrTooLarge = errors.New("object is too large with its defaults")

// What defaults may add to an object. A body of empty items can ask for a million large ones.
const (
	// MaxDefaults is for an object that is to be written. No etcd takes as much of us: its client stops at 2 MiB, the embedded server at
	// 4 MiB.
	MaxDefaults = 4 << 20
	// MaxStoredDefaults is for one that was stored, maybe before its schema had the defaults.
	MaxStoredDefaults = 64 << 20
)

// Default fills in what the schema of the object's version declares as defaults (T4). Objects of other kinds, and of
// versions that the CRD does not have, are left as they are. It stops with ErrTooLarge when they have added more than that many bytes.
func (s *Set) Default(obj map[string]any, most int) error {
	u := unstructured.Unstructured{Object: obj}
	gvk := u.GroupVersionKind()
	if gvk.GroupKind() != s.kind {
		return nil
	}
	v := s.Version(gvk.Version)
	if v == nil {
		return nil
	}
	root, err := v.root()
	if err != nil {
		return err
	}
	f := filling{left: most}
	if f.fill(root, obj); f.left < 0 {
		return ErrTooLarge
	}
	return nil
}

// filling is the way of defaults into one object.
type filling struct {
	// left is how many bytes may still be added; nothing is once it is negative.
	left int
}

// fill sets what is missing, or is null and may not be, to a copy of its default, as deep as the value goes. It does
// what the library's Default does, which looks at every property of the schema for each object.
func (f *filling) fill(n *node, value any) {
	if f.left < 0 {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		f.fillObject(n, value)
	case []any:
		items := n.items()
		if items == nil {
			return
		}
		for i := range value {
			if value[i] == nil && !items.nullable {
				value[i] = f.copied(items.defaultValue, items.defaultSize)
			}
			f.fill(items, value[i])
		}
	}
}

func (f *filling) fillObject(n *node, fields map[string]any) {
	if n.object == nil {
		return
	}
	for _, property := range n.object.defaults {
		if value, ok := fields[property.name]; !ok || value == nil && !property.nullable {
			fields[property.name] = f.copied(property.value, property.size)
		}
		if f.left < 0 {
			return
		}
	}
	for name, value := range fields {
		if property := n.object.properties.get(name); property != nil {
			f.fill(property, value)
		} else if additional := n.object.additional.get(); additional != nil {
			if value == nil && !additional.nullable {
				value = f.copied(additional.defaultValue, additional.defaultSize)
				fields[name] = value
			}
			f.fill(additional, value)
		}
	}
}

// copied returns a copy of a default of that many bytes, nil if they are too many.
func (f *filling) copied(value any, size int) any {
	if f.left -= size; f.left < 0 {
		return nil
	}
	return runtime.DeepCopyJSONValue(value)
}

// leastSize is how many bytes a value takes at least in any encoding that is stored.
func leastSize(value any) int {
	size := 1
	switch value := value.(type) {
	case string:
		size += len(value)
	case []any:
		for _, item := range value {
			size += leastSize(item)
		}
	case map[string]any:
		for name, member := range value {
			size += leastSize(name) + leastSize(member)
		}
	}
	return size
}
