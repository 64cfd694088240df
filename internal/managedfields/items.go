package managedfields

import (
	"slices"

	smdschema "sigs.k8s.io/structured-merge-diff/v6/schema"
)

// sortedItems returns the steps to the items of an associative list, in the order of their path elements: those are inserted into
// a set of paths without moving others. It returns false if an item lacks a key, or has the keys of another item.
func (w *walk) sortedItems(t *smdschema.List, items []any) ([]step, bool) {
	steps := make([]step, len(items))
	for i, item := range items {
		if !w.visit() || !hasKeys(t, item) {
			return nil, false
		}
		steps[i] = step{list: t, item: item, index: i}
		steps[i].pathElement()
	}
	slices.SortFunc(steps, func(a, b step) int { return a.element.Compare(b.element) })
	for i := 1; i < len(steps); i++ {
		if steps[i].element.Equals(steps[i-1].element) {
			return nil, false
		}
	}
	return steps, true
}

// sameItems reports whether two lists have items with the same keys at the same places.
func sameItems(t *smdschema.List, a, b []any) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !hasKeys(t, a[i]) || !hasKeys(t, b[i]) {
			return false
		}
		if len(t.Keys) == 0 && a[i] != b[i] {
			return false
		}
		for _, key := range t.Keys {
			if a[i].(map[string]any)[key] != b[i].(map[string]any)[key] {
				return false
			}
		}
	}
	return true
}

// hasKeys reports whether an item has everything that tells it from other items, in types that can be compared.
func hasKeys(t *smdschema.List, item any) bool {
	if len(t.Keys) == 0 {
		return isKey(item)
	}
	members, ok := item.(map[string]any)
	for _, key := range t.Keys {
		ok = ok && isKey(members[key])
	}
	return ok
}

func isKey(value any) bool {
	switch value.(type) {
	case string, bool, int64:
		return true
	}
	return false
}
