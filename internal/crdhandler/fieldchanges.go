package crdhandler

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	smdschema "sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// fieldChanges are the differences between two objects as managed fields see them, and what finds them. Both objects are held
// against their type on the way. The library does the same in three walks that make a value of everything they come by; this
// one makes nothing of what has not changed. It leaves to the library all that takes thought: then its methods return false.
type fieldChanges struct {
	modified, added, removed fieldpath.Set
	// count is how many were found.
	count int

	lookout
	schema *smdschema.Schema
	kind   smdschema.TypeRef // of the objects
	// reset are the members of the objects whose changes do not count.
	reset map[string]bool
	// way are the steps from the root to where the walk is; path is for the paths made of them.
	way  []fieldStep
	path fieldpath.Path
}

// fieldStep leads into an object or into a list with keys or of different items. Few steps ever become a path element.
type fieldStep struct {
	name string
	list *smdschema.List // nil: into an object
	item any

	made    bool
	element fieldpath.PathElement
}

// neverOwned are the members of metadata that no manager owns: the library strips them. metadata itself, apiVersion and kind
// are the others.
var neverOwned = map[string]bool{
	"name": true, "namespace": true, "creationTimestamp": true, "selfLink": true, "uid": true, "clusterName": true,
	"generation": true, "managedFields": true, "resourceVersion": true,
}

// newFieldChanges returns no changes of objects of a type, which kind is a value of. To find some is interrupted when ctx is done.
func newFieldChanges(ctx context.Context, kind *typed.TypedValue, reset map[string]bool) *fieldChanges {
	return &fieldChanges{lookout: lookout{ctx: ctx}, schema: kind.Schema(), kind: kind.TypeRef(), reset: reset}
}

// compareObjects compares two objects, whose kinds must be the same.
func (c *fieldChanges) compareObjects(live, obj *unstructured.Unstructured) bool {
	root, ok := c.root()
	return ok && c.compareRoots(root, live.Object, obj.Object)
}

// root returns the type of objects; false if they are owned as a whole.
func (c *fieldChanges) root() (*smdschema.Map, bool) {
	atom, ok := c.schema.Resolve(c.kind)
	return atom.Map, ok && granular(atom.Map)
}

func granular(t *smdschema.Map) bool {
	return t != nil && t.ElementRelationship != smdschema.Atomic
}

// compareRoots compares whole objects.
func (c *fieldChanges) compareRoots(t *smdschema.Map, live, obj map[string]any) bool {
	return c.compareMembers(t, live, obj, func(name string, ref smdschema.TypeRef, live, obj member) bool {
		switch {
		case name == "metadata":
			return c.compareMetadata(ref, live, obj)
		case c.reset[name], name == "apiVersion", name == "kind":
			return c.fits(ref, live) && c.fits(ref, obj)
		}
		return c.compareMember(ref, live, obj)
	})
}

// compareMetadata compares the metadata of objects. Managed fields are not compared; those of the live object must be known to
// fit.
func (c *fieldChanges) compareMetadata(ref smdschema.TypeRef, live, obj member) bool {
	atom, ok := c.schema.Resolve(ref)
	before, isMap := live.value.(map[string]any)
	after, isMap2 := obj.value.(map[string]any)
	if !ok || !granular(atom.Map) || live.ok && !isMap || !isMap2 {
		return false
	}
	return c.compareMembers(atom.Map, before, after, func(name string, ref smdschema.TypeRef, live, obj member) bool {
		switch {
		case name == "managedFields":
			return true
		case neverOwned[name], c.reset["metadata"]:
			return c.fits(ref, live) && c.fits(ref, obj)
		}
		return c.compareMember(ref, live, obj)
	})
}

// member is that of an object, if it has it.
type member struct {
	value any
	ok    bool
}

// compareMembers has every member of two objects compared, with its type.
func (c *fieldChanges) compareMembers(
	t *smdschema.Map, live, obj map[string]any, compare func(name string, ref smdschema.TypeRef, live, obj member) bool,
) bool {
	visit := func(name string, live, obj member) bool {
		ref, ok := memberType(t, name)
		if !ok {
			return false
		}
		c.way = append(c.way, fieldStep{name: name})
		defer c.leave()
		return compare(name, ref, live, obj)
	}
	return eachMember(obj, func(name string, value any) bool {
		before, ok := live[name]
		return visit(name, member{before, ok}, member{value, true})
	}) && eachMember(live, func(name string, value any) bool {
		_, ok := obj[name]
		return ok || visit(name, member{value, true}, member{})
	})
}

// memberType returns the type of a member; false if there may be no such member.
func memberType(t *smdschema.Map, name string) (smdschema.TypeRef, bool) {
	if field, ok := t.FindField(name); ok {
		return field.Type, true
	}
	return t.ElementType, t.ElementType != smdschema.TypeRef{}
}

func (c *fieldChanges) compareMember(ref smdschema.TypeRef, live, obj member) bool {
	switch {
	case !live.ok:
		return c.declare(ref, obj.value, &c.added)
	case !obj.ok:
		return c.declare(ref, live.value, &c.removed)
	}
	return c.compare(ref, live.value, obj.value)
}

// compare compares two values of a type.
func (c *fieldChanges) compare(ref smdschema.TypeRef, live, obj any) bool {
	c.pass()
	atom, ok := c.schema.Resolve(ref)
	if !ok {
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
			return c.compareLeaves(ref, live, obj)
		}
		return c.compareMembers(atom.Map, live, obj, func(_ string, ref smdschema.TypeRef, live, obj member) bool {
			return c.compareMember(ref, live, obj)
		})
	case []any:
		live, ok := live.([]any)
		if !ok || live == nil || obj == nil || atom.List == nil {
			return false
		}
		switch atom.List.ElementRelationship {
		case smdschema.Atomic:
			return c.compareLeaves(ref, live, obj)
		case smdschema.Associative:
			return c.compareItems(atom.List, live, obj)
		}
		return false
	}
	return fitsScalar(atom.Scalar, live) && fitsScalar(atom.Scalar, obj) && c.compareScalars(live, obj)
}

// compareScalars compares scalars of one kind. Whether numbers of two kinds are the same is for the library to say.
func (c *fieldChanges) compareScalars(live, obj any) bool {
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
		c.found(&c.modified)
	}
	return ok
}

// compareLeaves compares values that are owned as a whole.
func (c *fieldChanges) compareLeaves(ref smdschema.TypeRef, live, obj any) bool {
	if !c.declare(ref, live, nil) {
		return false
	}
	if sameJSON(live, obj) {
		return true
	}
	if !exact(live) || !exact(obj) || !c.declare(ref, obj, nil) {
		return false
	}
	c.found(&c.modified)
	return true
}

// exact says that a value has nothing in it of which two may be the same though they are not alike.
func exact(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		for _, member := range value {
			if !exact(member) {
				return false
			}
		}
		return true
	case []any:
		for _, item := range value {
			if !exact(item) {
				return false
			}
		}
		return true
	case nil, string, bool, int64:
		return true
	}
	return false
}

// found adds the place where the walk is to one of the sets.
func (c *fieldChanges) found(into *fieldpath.Set) {
	into.Insert(c.at())
	c.count++
}

// leave takes a step back.
func (c *fieldChanges) leave() { c.way = c.way[:len(c.way)-1] }

// at returns the path to where the walk is, until it is called again.
func (c *fieldChanges) at() fieldpath.Path {
	c.path = c.path[:0]
	for i := range c.way {
		c.path = append(c.path, c.way[i].asElement())
	}
	return c.path
}
