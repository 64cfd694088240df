package managedfields

import (
	"context"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	smdschema "sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/crd-server/crd-server/internal/objectjson"
)

// comparison finds the fields in which two objects differ, as managed fields count them. It checks both objects against
// their type on the way.
type comparison struct {
	walk
	// reset are the members of objects whose changes do not count at the endpoint.
	reset map[string]bool

	modified, added, removed fieldpath.Set
	changes                  int // how many fields differ
}

// systemFields are the members of metadata that no manager owns, as the library strips them from its sets. It also
// strips apiVersion, kind and metadata itself.
var systemFields = map[string]bool{
	"name": true, "namespace": true, "creationTimestamp": true, "selfLink": true, "uid": true, "clusterName": true,
	"generation": true, "managedFields": true, "resourceVersion": true,
}

// newComparison returns a comparison of objects of the type of kind.
func newComparison(ctx context.Context, kind *typed.TypedValue, reset map[string]bool) *comparison {
	return &comparison{walk: newWalk(ctx, kind), reset: reset}
}

// compareObjects compares two objects of the same kind.
func (c *comparison) compareObjects(live, obj map[string]any) bool {
	t, ok := c.objectType()
	return ok && c.compareMembers(t, live, obj, func(name string, p pair) bool {
		switch {
		case name == "metadata":
			return c.compareMetadata(p)
		case c.reset[name], name == "apiVersion", name == "kind":
			return c.typeCheckPair(p)
		}
		return c.comparePair(p)
	})
}

// compareMetadata compares the metadata of objects, except for their managed fields: the caller has read those.
func (c *comparison) compareMetadata(p pair) bool {
	atom, ok := c.schema.Resolve(p.ref)
	before, isMap := p.live.(map[string]any)
	after, isMap2 := p.obj.(map[string]any)
	if !ok || !granular(atom.Map) || p.inLive && !isMap || !isMap2 {
		return false
	}
	return c.compareMembers(atom.Map, before, after, func(name string, p pair) bool {
		switch {
		case name == "managedFields":
			return true
		case systemFields[name], c.reset["metadata"]:
			return c.typeCheckPair(p)
		}
		return c.comparePair(p)
	})
}

// pair is a member of two objects. One of them may not have it.
type pair struct {
	ref           smdschema.TypeRef
	live, obj     any
	inLive, inObj bool
}

// compareMembers calls compare for every member of two objects of a type.
func (c *comparison) compareMembers(
	t *smdschema.Map, live, obj map[string]any, compare func(name string, p pair) bool,
) bool {
	for _, name := range sortedNames(obj, live) {
		ref, ok := memberType(t, name)
		if !ok {
			return false
		}
		p := pair{ref: ref}
		p.live, p.inLive = live[name]
		p.obj, p.inObj = obj[name]
		if !c.member(name, func() bool { return compare(name, p) }) {
			return false
		}
	}
	return true
}

func (c *comparison) typeCheckPair(p pair) bool {
	return (!p.inLive || c.typeCheck(p.ref, p.live, paths{})) && (!p.inObj || c.typeCheck(p.ref, p.obj, paths{}))
}

func (c *comparison) comparePair(p pair) bool {
	switch {
	case !p.inLive:
		return c.add(p.ref, p.obj)
	case !p.inObj:
		return c.remove(p.ref, p.live)
	}
	return c.compare(p.ref, p.live, p.obj)
}

// add records that the current value, and everything in it, is new.
func (c *comparison) add(ref smdschema.TypeRef, value any) bool {
	c.changes++
	return c.typeCheck(ref, value, paths{all: &c.added})
}

// remove records that the current value, and everything in it, was removed.
func (c *comparison) remove(ref smdschema.TypeRef, value any) bool {
	c.changes++
	return c.typeCheck(ref, value, paths{all: &c.removed})
}

// modify records that the current value has changed.
func (c *comparison) modify() {
	c.changes++
	c.modified.Insert(c.path)
}

// compare compares two values of a type.
func (c *comparison) compare(ref smdschema.TypeRef, live, obj any) bool {
	atom, ok := c.schema.Resolve(ref)
	if !ok || !c.visit() {
		return false
	}
	switch obj := obj.(type) {
	case nil:
		return live == nil && atom != smdschema.Atom{}
	case map[string]any:
		live, ok := live.(map[string]any)
		if !ok || live == nil || obj == nil || atom.Map == nil {
			return false
		}
		if !granular(atom.Map) {
			return c.compareAtomic(ref, live, obj)
		}
		return c.compareMembers(atom.Map, live, obj, func(_ string, p pair) bool { return c.comparePair(p) })
	case []any:
		live, ok := live.([]any)
		if !ok || live == nil || obj == nil || atom.List == nil {
			return false
		}
		if !associative(atom.List) {
			return atom.List.ElementRelationship == smdschema.Atomic && c.compareAtomic(ref, live, obj)
		}
		return c.compareItems(atom.List, live, obj)
	}
	return isScalar(atom.Scalar, live) && isScalar(atom.Scalar, obj) && c.compareLeaves(live, obj)
}

// compareAtomic compares values that have their owners as a whole.
func (c *comparison) compareAtomic(ref smdschema.TypeRef, live, obj any) bool {
	return c.typeCheck(ref, live, paths{}) && c.typeCheck(ref, obj, paths{}) && c.compareLeaves(live, obj)
}

// compareLeaves compares values of the same type that have no fields. It leaves an integer that equals a float to the
// library.
func (c *comparison) compareLeaves(live, obj any) bool {
	if objectjson.Equal(live, obj) {
		return true
	}
	if value.Equals(value.NewValueInterface(live), value.NewValueInterface(obj)) {
		return false
	}
	c.modify()
	return true
}

// compareItems compares associative lists. The order of their items does not count.
func (c *comparison) compareItems(t *smdschema.List, live, obj []any) bool {
	old, ok := c.sortedItems(t, live)
	items, ok2 := c.sortedItems(t, obj)
	if !ok || !ok2 {
		return false
	}
	for ok && (len(old) > 0 || len(items) > 0) {
		switch order := compareFirst(old, items); {
		case order < 0:
			ok = c.inside(old[0].element, func() bool { return c.remove(t.ElementType, old[0].value) })
			old = old[1:]
		case order > 0:
			ok = c.inside(items[0].element, func() bool { return c.add(t.ElementType, items[0].value) })
			items = items[1:]
		default:
			ok = c.inside(items[0].element, func() bool { return c.compare(t.ElementType, old[0].value, items[0].value) })
			old, items = old[1:], items[1:]
		}
	}
	return ok
}
