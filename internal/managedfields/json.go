package managedfields

import (
	"reflect"
	"slices"
)

// equalJSON is reflect.DeepEqual for decoded JSON, without reflection for the usual types.
func equalJSON(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && equalMembers(a, b, nil)
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !equalJSON(a[i], b[i]) {
				return false
			}
		}
		return true
	case string:
		b, ok := b.(string)
		return ok && a == b
	case int64:
		b, ok := b.(int64)
		return ok && a == b
	}
	return reflect.DeepEqual(a, b)
}

// equalMembers reports whether two JSON objects are equal, whatever they have at the path except.
func equalMembers(a, b map[string]any, except []string) bool {
	if len(a) != len(b) {
		return false
	}
	for name, value := range a {
		other, ok := b[name]
		if !ok {
			return false
		}
		if len(except) == 0 || name != except[0] {
			if !equalJSON(value, other) {
				return false
			}
			continue
		}
		members, ok := value.(map[string]any)
		others, ok2 := other.(map[string]any)
		if len(except) > 1 && ok && ok2 && !equalMembers(members, others, except[1:]) {
			return false
		}
	}
	return true
}

// hasFloats reports whether a decoded JSON value contains numbers, or anything else, that can be equal to a value of another type.
func hasFloats(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		for _, member := range value {
			if hasFloats(member) {
				return true
			}
		}
		return false
	case []any:
		return slices.ContainsFunc(value, hasFloats)
	case nil, string, bool, int64:
		return false
	}
	return true
}
