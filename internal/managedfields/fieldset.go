package managedfields

import (
	"slices"
	"unicode/utf8"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/crd-server/crd-server/internal/objectjson"
)

// readOwnedSet returns the set of fields in the fieldsV1 of an entry. It returns false where the library may change
// the set when it reads it: because it would write it differently, because the type of the objects has changed, or
// because no manager can own some of its fields.
func readOwnedSet(fields map[string]any, kind *typed.TypedValue) (*fieldpath.Set, bool) {
	if _, ok := fields[itself]; ok {
		return nil, false
	}
	set, ok := readSet(fields)
	if !ok || set.Empty() || ownsSystemFields(set) {
		return nil, false
	}
	reconciled, err := typed.ReconcileFieldSetWithSchema(set, kind)
	return set, err == nil && reconciled == nil
}

// ownsSystemFields reports whether a set contains a field that no manager owns.
func ownsSystemFields(set *fieldpath.Set) bool {
	for _, name := range [...]string{"apiVersion", "kind", "metadata"} {
		if set.Members.Has(fieldpath.FieldNameElement(name)) {
			return true
		}
	}
	metadata, ok := set.Children.Get(fieldpath.FieldNameElement("metadata"))
	for name := range systemFields {
		if ok && metadata.Members.Has(fieldpath.FieldNameElement(name)) {
			return true
		}
	}
	return false
}

// itself is the name that stands for the field around it: {"f:a":{".":{},"f:b":{}}} contains a and a.b.
const itself = "."

// readSet returns the set that is written as fields. It returns false if writeSet would write it differently.
// Elements are inserted in their order, which is not that of JSON. See docs/upstream.md, "Quadratic inserts into path
// sets".
func readSet(fields map[string]any) (*fieldpath.Set, bool) {
	type child struct {
		element fieldpath.PathElement
		fields  map[string]any
	}
	children := make([]child, 0, len(fields))
	for name, value := range fields {
		if name == itself {
			continue
		}
		element, ok := readElement(name)
		inner, ok2 := value.(map[string]any)
		if !ok || !ok2 || inner == nil {
			return nil, false
		}
		children = append(children, child{element, inner})
	}
	slices.SortFunc(children, func(a, b child) int { return a.element.Compare(b.element) })
	set := &fieldpath.Set{}
	for _, c := range children {
		if !readChild(set, c.element, c.fields) {
			return nil, false
		}
	}
	return set, true
}

// readChild adds to a set the fields that are written under one of its elements.
func readChild(set *fieldpath.Set, element fieldpath.PathElement, fields map[string]any) bool {
	mark, isMember := fields[itself]
	if isMember && (len(fields) == 1 || !objectjson.Equal(mark, map[string]any{})) {
		return false
	}
	if isMember || len(fields) == 0 {
		set.Members.Insert(element)
	}
	if len(fields) == 0 {
		return true
	}
	inner, ok := readSet(fields)
	if ok {
		*set.Children.Descend(element) = *inner
	}
	return ok
}

// readElement returns the path element that is written as text. It returns false if it would be written differently.
func readElement(text string) (fieldpath.PathElement, bool) {
	element, err := fieldpath.DeserializePathElement(text)
	if err != nil || !utf8.ValidString(text) {
		return element, false
	}
	if element.FieldName != nil {
		return element, true
	}
	written, err := fieldpath.SerializePathElement(element)
	return element, err == nil && written == text
}

// writeSet returns a set as the JSON object that entries have in fieldsV1.
func writeSet(set *fieldpath.Set) (map[string]any, error) {
	children := 0 // set.Children.Size counts what is in them, too
	for range set.Children.All() {
		children++
	}
	fields := make(map[string]any, max(set.Members.Size(), children))
	for element := range set.Members.All() {
		name, err := fieldpath.SerializePathElement(element)
		if err != nil {
			return nil, err
		}
		fields[name] = map[string]any{}
	}
	for element := range set.Children.All() {
		name, err := fieldpath.SerializePathElement(element)
		if err != nil {
			return nil, err
		}
		within, _ := set.Children.Get(element)
		inner, err := writeSet(within)
		if err != nil {
			return nil, err
		}
		if _, ok := fields[name]; ok {
			inner[itself] = map[string]any{}
		}
		fields[name] = inner
	}
	return fields, nil
}
