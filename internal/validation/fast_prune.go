package validation

// clean reports whether pruning would certainly leave the value unchanged (T1): it has no field that the schema does not declare,
// and no null that is not allowed and has no default. Nearly all values are clean. n is nil where there is no schema.
func (n *node) clean(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		return n.cleanObject(value, false)
	case []any:
		items := n.items()
		if items == nil && n.preservesUnknown() {
			return true
		}
		for _, item := range value {
			if !items.clean(item) {
				return false
			}
		}
	}
	return true
}

func (n *node) preservesUnknown() bool {
	return n != nil && n.preserve
}

// cleanObject is clean for objects. resource means that the object has apiVersion, kind and metadata, from which pruning removes
// only nulls that the schema declares.
func (n *node) cleanObject(fields map[string]any, resource bool) bool {
	resource = resource || n != nil && n.embedded
	for name, value := range fields {
		property := n.property(name)
		switch {
		case resource && (name == "metadata" || name == "kind" || name == "apiVersion"):
			if property != nil && !property.withoutNulls(value) {
				return false
			}
		case property == nil:
			if !n.keepsUndeclared() {
				return false
			}
		case value == nil:
			if property.dropsNull() {
				return false
			}
		case !property.clean(value):
			return false
		}
	}
	return true
}

// keepsUndeclared reports whether pruning keeps undeclared fields unchanged.
func (n *node) keepsUndeclared() bool {
	return n.preservesUnknown() && (n.object == nil || !n.object.open && !n.object.closed)
}

func (n *node) dropsNull() bool {
	return !n.nullable && n.defaultValue == nil
}

// withoutNulls reports whether neither the value nor a value in it is a null that pruning would remove.
func (n *node) withoutNulls(value any) bool {
	switch value := value.(type) {
	case nil:
		return !n.dropsNull()
	case map[string]any:
		for name, field := range value {
			if property := n.property(name); property != nil && !property.withoutNulls(field) {
				return false
			}
		}
	case []any:
		items := n.items()
		if items == nil {
			return true
		}
		for _, item := range value {
			if item != nil && !items.withoutNulls(item) {
				return false
			}
		}
	}
	return true
}
