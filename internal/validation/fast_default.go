package validation

import "k8s.io/apimachinery/pkg/runtime"

// defaulter sets the defaults of one object, as the library's Default does, which searches all properties of the schema
// for every object. Unlike the library it limits their size. See docs/upstream.md, "Defaults have no size limit".
type defaulter struct {
	// left is how many more bytes the defaults may add. When it is negative, the object is incomplete.
	left int
}

// set sets every missing value, and every null that is not allowed, to a copy of its default.
func (d *defaulter) set(n *node, value any) {
	if d.left < 0 {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		d.setFields(n, value)
	case []any:
		items := n.items()
		if items == nil {
			return
		}
		for i := range value {
			if value[i] == nil && !items.nullable {
				value[i] = d.copy(items.defaultValue, items.defaultSize)
			}
			d.set(items, value[i])
		}
	}
}

func (d *defaulter) setFields(n *node, fields map[string]any) {
	if n.object == nil {
		return
	}
	for _, property := range n.object.defaults {
		if value, ok := fields[property.name]; !ok || value == nil && !property.nullable {
			fields[property.name] = d.copy(property.value, property.size)
		}
		if d.left < 0 {
			return
		}
	}
	for name, value := range fields {
		if property := n.object.properties.get(name); property != nil {
			d.set(property, value)
		} else if additional := n.object.additional.get(); additional != nil {
			if value == nil && !additional.nullable {
				value = d.copy(additional.defaultValue, additional.defaultSize)
				fields[name] = value
			}
			d.set(additional, value)
		}
	}
}

// copy returns a copy of a default of the given size, or nil if that is too large.
func (d *defaulter) copy(value any, size int) any {
	if d.left -= size; d.left < 0 {
		return nil
	}
	return runtime.DeepCopyJSONValue(value)
}

// minSize returns a lower bound of the encoded size of a value in bytes.
func minSize(value any) int {
	size := 1
	switch value := value.(type) {
	case string:
		size += len(value)
	case []any:
		for _, item := range value {
			size += minSize(item)
		}
	case map[string]any:
		for name, member := range value {
			size += minSize(name) + minSize(member)
		}
	}
	return size
}
