package crdhandler

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	smdschema "sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// fits says whether a member, if there is one, is of a type.
func (c *fieldChanges) fits(ref smdschema.TypeRef, m member) bool {
	return !m.ok || c.declare(ref, m.value, nil)
}

// declare adds a value, and all that is owned in it, to a set, if there is one. It returns false for what is not of the type.
func (c *fieldChanges) declare(ref smdschema.TypeRef, value any, into *fieldpath.Set) bool {
	atom, ok := c.schema.Resolve(ref)
	if !ok || !c.declareWithin(atom, value, into) {
		return false
	}
	if into != nil {
		c.found(into)
	}
	return true
}

// declareWithin is declare for what is in the value.
func (c *fieldChanges) declareWithin(atom smdschema.Atom, value any, into *fieldpath.Set) bool {
	switch value := value.(type) {
	case nil:
		return atom != smdschema.Atom{}
	case map[string]any:
		if value == nil || atom.Map == nil {
			return false
		}
		if !granular(atom.Map) {
			into = nil
		}
		return c.declareMembers(atom.Map, value, into)
	case []any:
		if value == nil || atom.List == nil {
			return false
		}
		if atom.List.ElementRelationship != smdschema.Associative {
			return !slices.ContainsFunc(value, func(item any) bool { return !c.declare(atom.List.ElementType, item, nil) })
		}
		return c.declareItems(atom.List, value, into)
	}
	return fitsScalar(atom.Scalar, value)
}

func (c *fieldChanges) declareMembers(t *smdschema.Map, members map[string]any, into *fieldpath.Set) bool {
	return eachMember(members, func(name string, value any) bool {
		ref, ok := memberType(t, name)
		if !ok {
			return false
		}
		c.steps = append(c.steps, fieldStep{name: name})
		ok = c.declare(ref, value, into)
		c.leave()
		return ok
	})
}

func (c *fieldChanges) declareItems(t *smdschema.List, items []any, into *fieldpath.Set) bool {
	for _, item := range inOrder(t, items) {
		if !c.declareItem(t, item, into) {
			return false
		}
	}
	return true
}

// declareItem is declare for an item of a list that is told from others by its keys, or by itself. Items that are the same are the
// library's matter, unless nobody asks for their paths.
func (c *fieldChanges) declareItem(t *smdschema.List, item any, into *fieldpath.Set) bool {
	return hasKeys(t, item) && c.visitItem(t, item, func() bool {
		return (into == nil || !into.Has(c.at())) && c.declare(t.ElementType, item, into)
	})
}

func (c *fieldChanges) visitItem(t *smdschema.List, item any, visit func() bool) bool {
	c.steps = append(c.steps, fieldStep{list: t, item: item})
	defer c.leave()
	return visit()
}

// compareItems compares lists whose items are told from each other by their keys, or by themselves.
func (c *fieldChanges) compareItems(t *smdschema.List, live, obj []any) bool {
	if !sameItems(t, live, obj) {
		return c.matchItems(t, live, obj)
	}
	before := c.count
	for i := range obj {
		if !hasKeys(t, obj[i]) || !c.visitItem(t, obj[i], func() bool { return c.compare(t.ElementType, live[i], obj[i]) }) {
			return false
		}
	}
	if c.count == before {
		return true
	}
	_, distinct := itemsByKeys(t, obj)
	return distinct
}

// matchItems is compareItems for lists that may have different items, or in another order.
func (c *fieldChanges) matchItems(t *smdschema.List, live, obj []any) bool {
	old, distinct := itemsByKeys(t, live)
	items, distinct2 := itemsByKeys(t, obj)
	if !distinct || !distinct2 {
		return false
	}
	return eachItem(t, items, func(key string, item any) bool {
		if before, ok := old[key]; ok {
			return c.visitItem(t, item, func() bool { return c.compare(t.ElementType, before, item) })
		}
		return c.declareItem(t, item, &c.added)
	}) && eachItem(t, old, func(key string, item any) bool {
		_, ok := items[key]
		return ok || c.declareItem(t, item, &c.removed)
	})
}

// itemsByKeys returns the items of a list by what tells them from each other; false if that does not.
func itemsByKeys(t *smdschema.List, items []any) (map[string]any, bool) {
	byKeys := make(map[string]any, len(items))
	for _, item := range items {
		if !hasKeys(t, item) {
			return nil, false
		}
		key, err := fieldpath.SerializePathElement(itemElement(t, item))
		if err != nil {
			return nil, false
		}
		if _, twice := byKeys[key]; twice {
			return nil, false
		}
		byKeys[key] = item
	}
	return byKeys, true
}

// sameItems says whether the items of two lists that have keys have the same keys each.
func sameItems(t *smdschema.List, live, obj []any) bool {
	if len(live) != len(obj) {
		return false
	}
	for i := range obj {
		if !hasKeys(t, live[i]) || !hasKeys(t, obj[i]) {
			return false
		}
		if len(t.Keys) == 0 && live[i] != obj[i] {
			return false
		}
		for _, key := range t.Keys {
			if live[i].(map[string]any)[key] != obj[i].(map[string]any)[key] {
				return false
			}
		}
	}
	return true
}

// hasKeys says whether an item of a list has all that tells it from others, and that can be compared.
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

func fitsScalar(t *smdschema.Scalar, value any) bool {
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

// pathElement returns a step as the library has it.
func pathElement(step *fieldStep) fieldpath.PathElement {
	if step.list == nil {
		return fieldpath.FieldNameElement(step.name)
	}
	return itemElement(step.list, step.item)
}

// itemElement returns the step into an item, which must have its keys.
func itemElement(t *smdschema.List, item any) fieldpath.PathElement {
	if len(t.Keys) == 0 {
		itself := value.NewValueInterface(item)
		return fieldpath.PathElement{Value: &itself}
	}
	members := item.(map[string]any)
	keys := make(value.FieldList, len(t.Keys))
	for i, name := range t.Keys {
		keys[i] = value.Field{Name: name, Value: value.NewValueInterface(members[name])}
	}
	keys.Sort()
	return fieldpath.PathElement{Key: &keys}
}
