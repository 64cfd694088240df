package crdhandler

import (
	"cmp"
	"context"
	"fmt"

	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// fieldValue is an object or a list as the library of managed fields is shown it. Members come sorted where they are many: the library inserts their
// paths one by one into sorted slices, which in Go's random order takes time by the square of their number. Items it inserts in the
// order they are in, for that means something; so who looks at a member or an item when ctx is done panics with an
// interruption: the library knows no contexts.
type fieldValue struct {
	value.Value
	ctx context.Context // nil: nothing ends it
}

// fieldValueOf returns a value as the library is shown it. What has nothing in it is the library's own.
func fieldValueOf(ctx context.Context, v any) value.Value {
	plain := value.NewValueInterface(v)
	switch v := v.(type) {
	case map[string]any, []any:
		return fieldValue{plain, ctx}
	case shownVersion:
		return versionValue{value.NewValueInterface(v.text), v}
	}
	return plain
}

// Format formats the value as the library's, which has it in its errors.
func (v fieldValue) Format(f fmt.State, verb rune) {
	fmt.Fprintf(f, fmt.FormatString(f, verb), v.Value)
}

// AsMap returns the value as a map.
func (v fieldValue) AsMap() value.Map {
	return fieldMap{v.Value.AsMap(), v.ctx, v.Unstructured().(map[string]any)}
}

// AsMapUsing is AsMap.
func (v fieldValue) AsMapUsing(value.Allocator) value.Map { return v.AsMap() }

// AsList returns the value as a list.
func (v fieldValue) AsList() value.List { return fieldList{v.Value.AsList(), v.ctx} }

// AsListUsing is AsList.
func (v fieldValue) AsListUsing(value.Allocator) value.List { return v.AsList() }

// fieldMap is the map that a fieldValue is.
type fieldMap struct {
	value.Map
	ctx     context.Context
	members map[string]any
}

// Get returns a member.
func (m fieldMap) Get(name string) (value.Value, bool) {
	member, ok := m.members[name]
	if !ok {
		return nil, false
	}
	return shown(m.ctx, member), true
}

// GetUsing is Get.
func (m fieldMap) GetUsing(_ value.Allocator, name string) (value.Value, bool) { return m.Get(name) }

// Iterate visits the members.
func (m fieldMap) Iterate(visit func(name string, member value.Value) bool) bool {
	return eachMember(m.members, func(name string, member any) bool { return visit(name, shown(m.ctx, member)) })
}

// IterateUsing is Iterate.
func (m fieldMap) IterateUsing(_ value.Allocator, visit func(name string, member value.Value) bool) bool {
	return m.Iterate(visit)
}

// Zip visits the members, with those of another map that have the same names, then its others. All are shown as fieldValues: it is the way by which
// the library comes to values that it has made itself.
func (m fieldMap) Zip(other value.Map, _ value.MapTraverseOrder, visit func(name string, member, other value.Value) bool) bool {
	o := fieldMapOf(other)
	ctx := cmp.Or(m.ctx, o.ctx)
	return eachMember(m.members, func(name string, member any) bool {
		if other, ok := o.members[name]; ok {
			return visit(name, shown(ctx, member), shown(ctx, other))
		}
		return visit(name, shown(ctx, member), nil)
	}) && eachMember(o.members, func(name string, other any) bool {
		_, ok := m.members[name]
		return ok || visit(name, nil, shown(ctx, other))
	})
}

// ZipUsing is Zip.
func (m fieldMap) ZipUsing(
	_ value.Allocator, other value.Map, order value.MapTraverseOrder, visit func(name string, member, other value.Value) bool,
) bool {
	return m.Zip(other, order, visit)
}

// EqualsUsing says whether two maps have the same members.
func (m fieldMap) EqualsUsing(a value.Allocator, other value.Map) bool {
	o := fieldMapOf(other)
	if len(m.members) != len(o.members) {
		return false
	}
	for name, member := range m.members {
		other, ok := o.members[name]
		if !ok || !value.EqualsUsing(a, shown(m.ctx, member), shown(m.ctx, other)) {
			return false
		}
	}
	return true
}

// Equals is EqualsUsing.
func (m fieldMap) Equals(other value.Map) bool { return m.EqualsUsing(value.HeapAllocator, other) }

func fieldMapOf(m value.Map) fieldMap {
	switch m := m.(type) {
	case nil:
		return fieldMap{}
	case fieldMap:
		return m
	}
	members := make(map[string]any, m.Length())
	m.Iterate(func(name string, member value.Value) bool {
		members[name] = member.Unstructured()
		return true
	})
	return fieldMap{Map: m, members: members}
}

// shown returns a member or an item, unless ctx is done.
func shown(ctx context.Context, v any) value.Value {
	interrupt(ctx)
	return fieldValueOf(ctx, v)
}

// fieldList is the list that a fieldValue is.
type fieldList struct {
	value.List
	ctx context.Context
}

// At returns an item.
func (l fieldList) At(i int) value.Value { return shown(l.ctx, l.List.At(i).Unstructured()) }

// AtUsing is At.
func (l fieldList) AtUsing(_ value.Allocator, i int) value.Value { return l.At(i) }
