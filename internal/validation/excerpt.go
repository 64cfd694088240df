package validation

import (
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxFaults bounds what the library is given to complain about. It compares every error with all that it has found, so that an
// object of a megabyte could keep it busy for many minutes.
const maxFaults = 500

// bounded has the library hold a value against its schema. One with very many faults is told the first of them. Faults in what is as it
// was in old are not counted, for the library drops them; old is nil on create, and if it drops nothing.
func (n *node) bounded(value, old any, validate func(value, old any) field.ErrorList) field.ErrorList {
	e := excerpt{left: maxFaults}
	some, was := e.of(n, value, old)
	errs := validate(some, was)
	switch {
	case !e.cut:
		return errs
	case len(errs) == 0: // nothing of it counts: it was so before, or is a fault to us only
		return validate(value, old)
	}
	return append(errs, &field.Error{Type: field.ErrorTypeTooMany, BadValue: maxFaults, Detail: "there are more errors; correct these to see the others"})
}

// excerpt is a part of a value with a bounded number of faults. What is in it is where it was, and has no fault that it had not.
type excerpt struct {
	// left is how many faults there may still be.
	left int
	// cut says that some were left out.
	cut bool
}

// of returns the value and what it was, or copies without some of what the library might complain about. Of what has not changed no
// fault is left, if that is possible: the library would need as long for those it drops.
func (e *excerpt) of(n *node, value, old any) (some, was any) {
	if n.check(value) == valid {
		return value, old
	}
	if old != nil && reflect.DeepEqual(value, old) {
		same, _ := (&excerpt{}).of(n, value, nil)
		return same, same
	}
	before := e.left
	if !n.opaque && n.logic == nil { // else fewer faults within might mean more outside
		switch whole := value.(type) {
		case []any:
			if n.list != nil && n.list.items != nil {
				before, _ := old.([]any)
				kept, keptOld := e.items(n.list, whole, before)
				if value = kept; before != nil {
					old = keptOld
				}
			}
		case map[string]any:
			if n.object != nil {
				before, _ := old.(map[string]any)
				kept, keptOld := e.fields(n.object, whole, before)
				if value = kept; before != nil {
					old = keptOld
				}
			}
		}
	}
	if e.left == before {
		e.left -= n.faultCost()
	}
	return value, old
}

// faultCost is what one fault of the node itself costs: its message may name all values that are allowed, and may be one for each
// required property.
func (n *node) faultCost() int {
	cost := 1
	if n.enum != nil {
		cost += (len(n.enum.texts) + len(n.enum.others)) / 20
	}
	if n.object != nil {
		cost += len(n.object.required)
	}
	return cost
}

// items leaves the end away: what comes before keeps its index.
func (e *excerpt) items(c *listNode, items, old []any) (kept, was []any) {
	each, before := c.items.get(), c.correlate(old)
	kept, was = make([]any, 0, min(len(items), 2*maxFaults)), slices.Clone(old)
	for i, item := range items {
		if e.left <= 0 && (c.minItems == nil || int64(i) >= *c.minItems) {
			e.cut = true
			break
		}
		at := before(item)
		if at < 0 {
			item, _ = e.of(each, item, nil)
		} else {
			item, was[at] = e.of(each, item, old[at])
		}
		kept = append(kept, item)
	}
	return kept, was
}

// fields leaves properties away that are not required: when there are too many faults, and those that are as they were in old, from both.
func (e *excerpt) fields(c *objectNode, fields, old map[string]any) (kept, was map[string]any) {
	kept, was = make(map[string]any, len(fields)), maps.Clone(old)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		value := fields[name]
		property := c.properties.get(name)
		if property == nil {
			property = c.additional.get()
		}
		if property == nil || property.check(value) == valid {
			kept[name] = value
			continue
		}
		before, had := old[name]
		same := had && name != "apiVersion" && name != "kind" && reflect.DeepEqual(value, before) // of these the library drops nothing
		switch optional := c.minProperties == nil && !slices.Contains(c.required, name); {
		case same && optional && c.maxProperties == nil:
			delete(was, name)
		case e.left <= 0 && optional && !same:
			e.cut = true
		default:
			some, someOld := e.of(property, value, before)
			if kept[name] = some; had {
				was[name] = someOld
			}
		}
	}
	return kept, was
}
