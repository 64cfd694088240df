package managedfields

import (
	"context"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	smdschema "sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
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
