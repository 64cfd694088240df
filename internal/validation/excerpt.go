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
// was in old, nil on create, are not counted: the library drops them.
func (n *node) bounded(value, old any, validate func(value any) field.ErrorList) field.ErrorList {
	e := excerpt{left: maxFaults}
	some := e.of(n, value, old)
	errs := validate(some)
	switch {
	case !e.cut:
		return errs
	case len(errs) == 0: // nothing of it counts: it was so before, or is a fault to us only
		return validate(value)
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

// of returns the value, or a copy without some of what the library might complain about.
func (e *excerpt) of(n *node, value, old any) any {
	if n.check(value) == valid || old != nil && reflect.DeepEqual(value, old) {
		return value
	}
	before := e.left
	if !n.opaque && n.logic == nil { // else fewer faults within might mean more outside
		switch whole := value.(type) {
		case []any:
			if n.list != nil && n.list.items != nil {
				value = e.items(n.list, whole)
			}
		case map[string]any:
			if n.object != nil {
				was, _ := old.(map[string]any)
				value = e.fields(n.object, whole, was)
			}
		}
	}
	if e.left == before {
		e.left -= n.faultCost()
	}
	return value
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
func (e *excerpt) items(c *listNode, items []any) []any {
	each := c.items.get()
	kept := make([]any, 0, min(len(items), 2*maxFaults))
	for i, item := range items {
		if e.left <= 0 && (c.minItems == nil || int64(i) >= *c.minItems) {
			e.cut = true
			break
		}
		kept = append(kept, e.of(each, item, nil))
	}
	return kept
}

// fields leaves properties away that are not required.
func (e *excerpt) fields(c *objectNode, fields, old map[string]any) map[string]any {
	kept := make(map[string]any, len(fields))
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		value := fields[name]
		property := c.properties.get(name)
		if property == nil {
			property = c.additional.get()
		}
		switch {
		case property == nil:
			kept[name] = value
		case e.left <= 0 && c.minProperties == nil && !slices.Contains(c.required, name) && property.check(value) != valid && !reflect.DeepEqual(value, old[name]):
			e.cut = true
		default:
			kept[name] = e.of(property, value, old[name])
		}
	}
	return kept
}
