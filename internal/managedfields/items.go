package managedfields

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	smdschema "sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// item is an item of an associative list.
type item struct {
	element fieldpath.PathElement
	value   any
	index   int
}

// sortedItems returns the items of an associative list in the order of their path elements: those are inserted into a
// set of paths without moving others. It returns false if an item lacks a key, or has the keys of another item.
func (w *walk) sortedItems(t *smdschema.List, values []any) ([]item, bool) {
	items := make([]item, len(values))
	for i, v := range values {
		element, ok := itemElement(t, v)
		if !ok || !w.visit() {
			return nil, false
		}
		items[i] = item{element, v, i}
	}
	slices.SortFunc(items, func(a, b item) int { return a.element.Compare(b.element) })
	for i := 1; i < len(items); i++ {
		if items[i].element.Equals(items[i-1].element) {
			return nil, false
		}
	}
	return items, true
}

// itemElement returns the path element of an item: its keys, or the item itself in a set. It returns false unless
// those are strings, integers or booleans.
func itemElement(t *smdschema.List, v any) (fieldpath.PathElement, bool) {
	if len(t.Keys) == 0 {
		return fieldpath.ValueElement(value.NewValueInterface(v)), isKey(v)
	}
	members, ok := v.(map[string]any)
	keys := make(value.FieldList, len(t.Keys))
	for i, name := range t.Keys {
		ok = ok && isKey(members[name])
		keys[i] = value.Field{Name: name, Value: value.NewValueInterface(members[name])}
	}
	keys.Sort()
	return fieldpath.KeyElement(keys...), ok
}

func isKey(v any) bool {
	switch v.(type) {
	case string, bool, int64:
		return true
	}
	return false
}

// compareFirst compares the first items of two sorted lists. The end of a list comes after every item.
func compareFirst(a, b []item) int {
	switch {
	case len(a) == 0:
		return 1
	case len(b) == 0:
		return -1
	}
	return a[0].element.Compare(b[0].element)
}
