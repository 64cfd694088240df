package validation

// clean says whether a value certainly has nothing that pruning would drop (T1): fields that the schema does not know, and
// nulls that may not be null and have no default. Nearly all values are clean, and seeing that takes a part of what
// the library takes to prune them. n is nil where there is no schema.
func (n *node) clean(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		return n.cleanObject(value, false)
	case []any:
		items := n.items()
		if items == nil && n.keeps() {
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

// keeps says whether unknown fields are kept.
func (n *node) keeps() bool {
	return n != nil && n.preserve
}

// cleanObject is clean for objects. Those that are resources have fields that are not pruned, at least not here, though
// nulls in them are dropped where the schema declares them.
func (n *node) cleanObject(fields map[string]any, resource bool) bool {
	resource = resource || n != nil && n.embedded
	for name, value := range fields {
		known := n.property(name)
		switch {
		case resource && (name == "metadata" || name == "kind" || name == "apiVersion"):
			if known != nil && !known.withoutNulls(value) {
				return false
			}
		case known == nil:
			if !n.keepsUnknown() {
				return false
			}
		case value == nil:
			if known.dropsNull() {
				return false
			}
		case !known.clean(value):
			return false
		}
	}
	return true
}

// keepsUnknown says whether fields that are not declared are kept, as they are.
func (n *node) keepsUnknown() bool {
	return n.keeps() && (n.object == nil || !n.object.open && !n.object.closed)
}

func (n *node) dropsNull() bool {
	return !n.nullable && n.defaultValue == nil
}

// withoutNulls says whether a value, itself and whatever is in it, has no null that would be dropped.
func (n *node) withoutNulls(value any) bool {
	switch value := value.(type) {
	case nil:
		return !n.dropsNull()
	case map[string]any:
		for name, field := range value {
			if known := n.property(name); known != nil && !known.withoutNulls(field) {
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
