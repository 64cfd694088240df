package managedfields

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	smdschema "sigs.k8s.io/structured-merge-diff/v6/schema"
)

// paths are sets that typeCheck adds paths to, unless they are nil.
type paths struct {
	// all gets the path of the value and of every value inside it that has its own owners.
	all *fieldpath.Set
	// applied gets the paths that a manager owns after it has applied the value.
	applied *fieldpath.Set
}

// typeCheck reports whether a value has a type, and adds paths to the sets in into. An applied value must not contain
// nulls or empty objects and lists: the library decides what they mean.
func (w *walk) typeCheck(ref smdschema.TypeRef, value any, into paths) bool {
	atom, ok := w.schema.Resolve(ref)
	if !ok || !w.visit() {
		return false
	}
	leaf := true
	switch value := value.(type) {
	case nil:
		ok = into.applied == nil && atom != smdschema.Atom{}
	case map[string]any:
		leaf = !granular(atom.Map)
		ok = atom.Map != nil && value != nil && (into.applied == nil || len(value) > 0) &&
			w.typeCheckMembers(atom.Map, value, into.inside(leaf))
	case []any:
		leaf = !associative(atom.List)
		ok = atom.List != nil && value != nil && (into.applied == nil || len(value) > 0) &&
			w.typeCheckItems(atom.List, value, into.inside(leaf))
	default:
		ok = isScalar(atom.Scalar, value)
	}
	if ok && into.all != nil {
		into.all.Insert(w.path)
	}
	if ok && leaf && into.applied != nil {
		into.applied.Insert(w.path)
	}
	return ok
}

// inside returns the sets for the values inside a value. Values inside a leaf do not have their own owners.
func (p paths) inside(leaf bool) paths {
	if leaf {
		return paths{}
	}
	return p
}

func (w *walk) typeCheckMembers(t *smdschema.Map, members map[string]any, into paths) bool {
	for _, name := range sortedNames(members, nil) {
		ref, ok := memberType(t, name)
		if !ok || !w.member(name, func() bool {
			if into.applied != nil && !isDeclared(t, name) {
				into.applied.Insert(w.path)
			}
			return w.typeCheck(ref, members[name], into)
		}) {
			return false
		}
	}
	return true
}

func (w *walk) typeCheckItems(t *smdschema.List, items []any, into paths) bool {
	if !associative(t) {
		return !slices.ContainsFunc(items, func(item any) bool { return !w.typeCheck(t.ElementType, item, paths{}) })
	}
	sorted, ok := w.sortedItems(t, items)
	for i := 0; ok && i < len(sorted); i++ {
		ok = w.inside(sorted[i].element, func() bool {
			if into.applied != nil {
				into.applied.Insert(w.path)
			}
			return w.typeCheck(t.ElementType, sorted[i].value, into)
		})
	}
	return ok
}

func isScalar(t *smdschema.Scalar, value any) bool {
	if t == nil {
		return false
	}
	switch value.(type) {
	case string:
		return *t == smdschema.String || *t == smdschema.Untyped
	case bool:
		return *t == smdschema.Boolean || *t == smdschema.Untyped
	case int64, float64:
		return *t == smdschema.Numeric || *t == smdschema.Untyped
	}
	return false
}
