package managedfields

import (
	"context"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	smdschema "sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// walk visits values of objects together with their types, and knows the path to the current value.
//
// Methods of a walk, and of the types that embed it, that return a bool return false when the walk has to be given
// up: the library must decide, because the values are unusual or wrong, or ctx is done.
type walk struct {
	ctx    context.Context
	visits int
	schema *smdschema.Schema
	object smdschema.TypeRef // the type of whole objects
	path   fieldpath.Path    // to the current value
}

// newWalk returns a walk over objects of the type of kind. It ends early when ctx is done.
func newWalk(ctx context.Context, kind *typed.TypedValue) walk {
	return walk{ctx: ctx, schema: kind.Schema(), object: kind.TypeRef()}
}

// visitsPerCheck is the number of values, about 100 microseconds of work, between two looks at the context.
const visitsPerCheck = 256

// visit counts a value. It returns false if ctx is done.
func (w *walk) visit() bool {
	w.visits++
	return w.visits%visitsPerCheck != 0 || w.ctx.Err() == nil
}

// objectType returns the type of whole objects.
func (w *walk) objectType() (*smdschema.Map, bool) {
	atom, ok := w.schema.Resolve(w.object)
	return atom.Map, ok && granular(atom.Map)
}

// member calls do with the walk at a member of the current value.
func (w *walk) member(name string, do func() bool) bool {
	return w.inside(fieldpath.FieldNameElement(name), do)
}

// inside calls do with the walk one element further, and then goes back.
func (w *walk) inside(element fieldpath.PathElement, do func() bool) bool {
	w.path = append(w.path, element)
	defer func() { w.path = w.path[:len(w.path)-1] }()
	return do()
}

// memberType returns the type of a member of an object. It returns false if the object cannot have that member.
func memberType(t *smdschema.Map, name string) (smdschema.TypeRef, bool) {
	if field, ok := t.FindField(name); ok {
		return field.Type, true
	}
	return t.ElementType, t.ElementType != smdschema.TypeRef{}
}

// isDeclared reports whether a type names a member, instead of allowing any.
func isDeclared(t *smdschema.Map, name string) bool {
	_, ok := t.FindField(name)
	return ok
}

// granular reports whether the members of an object are owned one by one, not as a whole.
func granular(t *smdschema.Map) bool {
	return t != nil && t.ElementRelationship != smdschema.Atomic
}

// associative reports whether the items of a list are told apart by keys or by their values.
func associative(t *smdschema.List) bool {
	return t != nil && t.ElementRelationship == smdschema.Associative
}

// sortedNames returns the names of the members of two objects. Paths that are made in this order are inserted into a
// set without moving others. See docs/upstream.md, "Quadratic inserts into path sets".
func sortedNames(a, b map[string]any) []string {
	names := make([]string, 0, max(len(a), len(b)))
	for name := range a {
		names = append(names, name)
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

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
