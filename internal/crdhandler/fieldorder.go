package crdhandler

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	smdschema "sigs.k8s.io/structured-merge-diff/v6/schema"
)

// few is up to how many members or items come in any order. A set of paths keeps them sorted in a slice: to insert them in their order takes
// a step each, in any other it moves half of all those that are there. 200,000 members had a processor busy for 14 seconds.
const few = 500

// eachMember visits the members of an object until visit returns false, and returns whether it never did.
func eachMember(members map[string]any, visit func(name string, value any) bool) bool {
	if len(members) > few {
		for _, name := range slices.Sorted(maps.Keys(members)) {
			if !visit(name, members[name]) {
				return false
			}
		}
		return true
	}
	for name, value := range members {
		if !visit(name, value) {
			return false
		}
	}
	return true
}

// inOrder returns the steps to the items of a list, with their places in it, as they are best visited. If one of them lacks its keys they are as they
// were.
func (c *fieldChanges) inOrder(t *smdschema.List, items []any) iter.Seq2[int, fieldStep] {
	if len(items) <= few || !allHaveKeys(t, items) {
		return stepsTo(t, items)
	}
	steps, places := make([]fieldStep, len(items)), make([]int, len(items))
	for i, item := range items {
		steps[i], places[i] = fieldStep{list: t, item: item}, i
	}
	slices.SortFunc(places, func(i, j int) int { return cmp.Or(c.inElementOrder(&steps[i], &steps[j]), i-j) })
	return func(visit func(int, fieldStep) bool) {
		for _, i := range places {
			if !visit(i, steps[i]) {
				return
			}
		}
	}
}

// stepsTo returns the steps to the items of a list.
func stepsTo(t *smdschema.List, items []any) iter.Seq2[int, fieldStep] {
	return func(visit func(int, fieldStep) bool) {
		for i, item := range items {
			if !visit(i, fieldStep{list: t, item: item}) {
				return
			}
		}
	}
}

// eachItem visits items, all of which have their keys, until visit returns false, and returns whether it never did.
func (c *fieldChanges) eachItem(items map[string]fieldStep, visit func(key string, item fieldStep) bool) bool {
	if len(items) <= few {
		for key, item := range items {
			if !visit(key, item) {
				return false
			}
		}
		return true
	}
	type keyed struct {
		key  string
		item fieldStep
	}
	sorted := make([]keyed, 0, len(items))
	for key, item := range items {
		sorted = append(sorted, keyed{key, item})
	}
	slices.SortFunc(sorted, func(a, b keyed) int { return c.inElementOrder(&a.item, &b.item) })
	return !slices.ContainsFunc(sorted, func(k keyed) bool { return !visit(k.key, k.item) })
}

func (c *fieldChanges) inElementOrder(a, b *fieldStep) int {
	c.pass()
	return a.asElement().Compare(b.asElement())
}

func allHaveKeys(t *smdschema.List, items []any) bool {
	return !slices.ContainsFunc(items, func(item any) bool { return !hasKeys(t, item) })
}
