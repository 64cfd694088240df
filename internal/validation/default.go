package validation

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Default fills in what the schema of the object's version declares as defaults (T4). Objects of other kinds, and of
// versions that the CRD does not have, are left as they are.
func (s *Set) Default(obj map[string]any) error {
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
	root.fill(obj)
	return nil
}

// fill sets what is missing, or is null and may not be, to a copy of its default, as deep as the value goes. It does
// what the library's Default does, which looks at every property of the schema for each object.
func (n *node) fill(value any) {
	switch value := value.(type) {
	case map[string]any:
		n.fillObject(value)
	case []any:
		items := n.items()
		if items == nil {
			return
		}
		for i := range value {
			if value[i] == nil && !items.nullable {
				value[i] = runtime.DeepCopyJSONValue(items.defaultValue)
			}
			items.fill(value[i])
		}
	}
}

func (n *node) fillObject(fields map[string]any) {
	if n.object == nil {
		return
	}
	for _, property := range n.object.defaults {
		if value, ok := fields[property.name]; !ok || value == nil && !property.nullable {
			fields[property.name] = runtime.DeepCopyJSONValue(property.value)
		}
	}
	for name, value := range fields {
		if property := n.object.properties.get(name); property != nil {
			property.fill(value)
		} else if additional := n.object.additional.get(); additional != nil {
			if value == nil && !additional.nullable {
				value = runtime.DeepCopyJSONValue(additional.defaultValue)
				fields[name] = value
			}
			additional.fill(value)
		}
	}
}
