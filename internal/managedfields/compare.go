package managedfields

import (
	"context"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	smdschema "sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
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
func (c *comparison) compareMembers(t *smdschema.Map, live, obj map[string]any, compare func(name string, p pair) bool) bool {
	for _, name := range sortedNames(obj, live) {
		ref, ok := memberType(t, name)
		if !ok {
			return false
		}
		p := pair{ref: ref}
		p.live, p.inLive = live[name]
		p.obj, p.inObj = obj[name]
		if !c.inside(step{name: name}, func() bool { return compare(name, p) }) {
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

// remove records that the current value, and everything in it, is gone.
func (c *comparison) remove(ref smdschema.TypeRef, value any) bool {
	c.changes++
	return c.typeCheck(ref, value, paths{all: &c.removed})
}

// modify records that the current value has changed.
func (c *comparison) modify() {
	c.changes++
	c.modified.Insert(c.current())
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
	return isScalar(atom.Scalar, live) && isScalar(atom.Scalar, obj) && c.compareScalars(live, obj)
}

// compareScalars compares scalars of the same Go type. Whether an integer equals a float is left to the library.
func (c *comparison) compareScalars(live, obj any) bool {
	var ok bool
	switch live.(type) {
	case string:
		_, ok = obj.(string)
	case bool:
		_, ok = obj.(bool)
	case int64:
		_, ok = obj.(int64)
	case float64:
		_, ok = obj.(float64)
	}
	if ok && live != obj {
		c.modify()
	}
	return ok
}

// compareAtomic compares values that have their owners as a whole.
func (c *comparison) compareAtomic(ref smdschema.TypeRef, live, obj any) bool {
	if !c.typeCheck(ref, live, paths{}) {
		return false
	}
	if equalJSON(live, obj) {
		return true
	}
	if hasFloats(live) || hasFloats(obj) || !c.typeCheck(ref, obj, paths{}) {
		return false
	}
	c.modify()
	return true
}

// compareItems compares associative lists. The order of their items does not count.
func (c *comparison) compareItems(t *smdschema.List, live, obj []any) bool {
	if !sameItems(t, live, obj) {
		return c.matchItems(t, live, obj)
	}
	before := c.changes
	for i := range obj {
		if !c.inside(step{list: t, item: obj[i]}, func() bool { return c.compare(t.ElementType, live[i], obj[i]) }) {
			return false
		}
	}
	if c.changes == before {
		return true
	}
	_, ok := c.sortedItems(t, obj)
	return ok
}

// matchItems compares associative lists whose items differ or have moved.
func (c *comparison) matchItems(t *smdschema.List, live, obj []any) bool {
	old, ok := c.sortedItems(t, live)
	items, ok2 := c.sortedItems(t, obj)
	if !ok || !ok2 {
		return false
	}
	for len(old) > 0 || len(items) > 0 {
		switch order := compareFirst(old, items); {
		case order < 0:
			ok = c.inside(old[0], func() bool { return c.remove(t.ElementType, old[0].item) })
			old = old[1:]
		case order > 0:
			ok = c.inside(items[0], func() bool { return c.add(t.ElementType, items[0].item) })
			items = items[1:]
		default:
			ok = c.inside(items[0], func() bool { return c.compare(t.ElementType, old[0].item, items[0].item) })
			old, items = old[1:], items[1:]
		}
		if !ok {
			return false
		}
	}
	return true
}

// compareFirst compares the first of the steps to two lists of items. The end of a list comes after every item.
func compareFirst(a, b []step) int {
	switch {
	case len(a) == 0:
		return 1
	case len(b) == 0:
		return -1
	}
	return a[0].element.Compare(b[0].element)
}
