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
	c.pass()
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
		c.way = append(c.way, fieldStep{name: name})
		ok = c.declare(ref, value, into)
		c.leave()
		return ok
	})
}

func (c *fieldChanges) declareItems(t *smdschema.List, items []any, into *fieldpath.Set) bool {
	steps := stepsTo(t, items)
	if into != nil {
		steps = c.inOrder(t, items)
	}
	for _, item := range steps {
		if !hasKeys(t, item.item) || !c.declareItem(item, into) {
			return false
		}
	}
	return true
}

// declareItem is declare for an item of a list that is told from others by its keys, which it must have, or by itself. Items that are the
// same are the library's matter, unless nobody asks for their paths.
func (c *fieldChanges) declareItem(item fieldStep, into *fieldpath.Set) bool {
	return c.visit(item, func() bool {
		return (into == nil || !into.Has(c.at())) && c.declare(item.list.ElementType, item.item, into)
	})
}

// visit does something after a step.
func (c *fieldChanges) visit(step fieldStep, do func() bool) bool {
	c.way = append(c.way, step)
	defer c.leave()
	return do()
}

// compareItems compares lists whose items are told from each other by their keys, or by themselves.
func (c *fieldChanges) compareItems(t *smdschema.List, live, obj []any) bool {
	if !sameItems(t, live, obj) {
		return c.matchItems(t, live, obj)
	}
	before := c.count
	for i := range obj {
		if !hasKeys(t, obj[i]) || !c.visit(fieldStep{list: t, item: obj[i]}, func() bool { return c.compare(t.ElementType, live[i], obj[i]) }) {
			return false
		}
	}
	if c.count == before {
		return true
	}
	_, distinct := c.itemsByKeys(t, obj)
	return distinct
}

// matchItems is compareItems for lists that may have different items, or in another order.
func (c *fieldChanges) matchItems(t *smdschema.List, live, obj []any) bool {
	old, distinct := c.itemsByKeys(t, live)
	items, distinct2 := c.itemsByKeys(t, obj)
	if !distinct || !distinct2 {
		return false
	}
	return c.eachItem(items, func(key string, item fieldStep) bool {
		if before, ok := old[key]; ok {
			return c.visit(item, func() bool { return c.compare(t.ElementType, before.item, item.item) })
		}
		return c.declareItem(item, &c.added)
	}) && c.eachItem(old, func(key string, item fieldStep) bool {
		_, ok := items[key]
		return ok || c.declareItem(item, &c.removed)
	})
}

// itemsByKeys returns the items of a list by what tells them from each other; false if that does not.
func (c *fieldChanges) itemsByKeys(t *smdschema.List, items []any) (map[string]fieldStep, bool) {
	byKeys := make(map[string]fieldStep, len(items))
	for _, item := range items {
		c.pass()
		if !hasKeys(t, item) {
			return nil, false
		}
		step := fieldStep{list: t, item: item}
		key, err := fieldpath.SerializePathElement(step.asElement())
		if err != nil {
			return nil, false
		}
		if _, twice := byKeys[key]; twice {
			return nil, false
		}
		byKeys[key] = step
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

// asElement returns the step as the library has it.
func (s *fieldStep) asElement() fieldpath.PathElement {
	switch {
	case s.made:
	case s.list == nil:
		s.element, s.made = fieldpath.FieldNameElement(s.name), true
	default:
		s.element, s.made = itemElement(s.list, s.item), true
	}
	return s.element
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
