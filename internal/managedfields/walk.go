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
// Methods of a walk, and of the types that embed it, that return a bool return false when the walk has to be given up: the library
// must decide, because the values are unusual or wrong, or ctx is done.
type walk struct {
	ctx    context.Context
	visits int
	schema *smdschema.Schema
	object smdschema.TypeRef // the type of whole objects
	// steps lead from the object to the current value. path is the buffer for the path made of them.
	steps []step
	path  fieldpath.Path
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

// inside calls do with the walk one step further, and then goes back.
func (w *walk) inside(s step, do func() bool) bool {
	w.steps = append(w.steps, s)
	defer func() { w.steps = w.steps[:len(w.steps)-1] }()
	return do()
}

// current returns the path to the current value. It is valid until the next call.
func (w *walk) current() fieldpath.Path {
	w.path = w.path[:0]
	for i := range w.steps {
		w.path = append(w.path, w.steps[i].pathElement())
	}
	return w.path
}

// step leads to a member of an object or to an item of an associative list. Its path element is made when it is first needed: most
// values have not changed, and their paths are not needed.
type step struct {
	name  string          // of a member
	list  *smdschema.List // the list of an item, nil for a member
	item  any
	index int // of an item in its list

	element fieldpath.PathElement
	made    bool // element is set
}

func (s *step) pathElement() fieldpath.PathElement {
	if !s.made {
		s.element, s.made = s.newPathElement(), true
	}
	return s.element
}

func (s *step) newPathElement() fieldpath.PathElement {
	if s.list == nil {
		return fieldpath.FieldNameElement(s.name)
	}
	if len(s.list.Keys) == 0 {
		return fieldpath.ValueElement(value.NewValueInterface(s.item))
	}
	members := s.item.(map[string]any)
	keys := make(value.FieldList, len(s.list.Keys))
	for i, name := range s.list.Keys {
		keys[i] = value.Field{Name: name, Value: value.NewValueInterface(members[name])}
	}
	keys.Sort()
	return fieldpath.KeyElement(keys...)
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

// sortedNames returns the names of the members of two objects. Paths that are made in this order are inserted into a set without
// moving others. See docs/upstream.md, "Quadratic inserts into path sets".
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
