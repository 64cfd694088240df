package validation

import (
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateUnique holds the items of lists of type set and map to be unique. The library, which copies every schema it
// passes, is asked where this is not obvious.
func validateUnique(keyed *structuralschema.Structural, obj map[string]any) field.ErrorList {
	if keyed == nil || uniqueInObject(obj, keyed) {
		return nil
	}
	return listtype.ValidateListSetsAndMaps(nil, keyed, obj)
}

// obviouslyUnique says whether the library would find no item twice in a value. keyed is trimmed to what leads to lists.
func obviouslyUnique(value any, keyed *structuralschema.Structural) bool {
	switch value := value.(type) {
	case map[string]any:
		return uniqueInObject(value, keyed)
	case []any:
		return uniqueInList(value, keyed)
	}
	return true
}

func uniqueInObject(fields map[string]any, keyed *structuralschema.Structural) bool {
	if keyed.AdditionalProperties != nil && keyed.AdditionalProperties.Structural != nil {
		for _, value := range fields {
			if !obviouslyUnique(value, keyed.AdditionalProperties.Structural) {
				return false
			}
		}
	}
	for name := range keyed.Properties {
		if value, ok := fields[name]; ok {
			property := keyed.Properties[name]
			if !obviouslyUnique(value, &property) {
				return false
			}
		}
	}
	return true
}

func uniqueInList(items []any, keyed *structuralschema.Structural) bool {
	if keyed.XListType != nil {
		switch *keyed.XListType {
		case "set":
			if !uniqueScalars(items) {
				return false
			}
		case "map":
			if !uniqueKeys(items, keyed.XListMapKeys) {
				return false
			}
		}
	}
	if keyed.Items != nil {
		for _, item := range items {
			if !obviouslyUnique(item, keyed.Items) {
				return false
			}
		}
	}
	return true
}

// maxPairs is up to which size comparing every item with all before it is cheaper than putting them into a map.
const maxPairs = 24

func uniqueScalars(items []any) bool {
	if len(items) > maxPairs {
		return uniqueManyScalars(items)
	}
	for i, item := range items {
		if !isScalar(item) {
			return false
		}
		for _, before := range items[:i] {
			if before == item {
				return false
			}
		}
	}
	return true
}

func uniqueManyScalars(items []any) bool {
	seen := make(map[any]struct{}, len(items))
	for _, item := range items {
		if !isScalar(item) {
			return false
		}
		seen[item] = struct{}{}
	}
	return len(seen) == len(items)
}

// isScalar holds for values that are the same if, and only if, Go says that they are, even where the library compares their
// JSON.
func isScalar(value any) bool {
	switch value.(type) {
	case int64, bool:
		return true
	}
	return isText(value)
}

// uniqueKeys holds for objects that all have all keys and differ in one at least.
func uniqueKeys(items []any, keys []string) bool {
	if len(items) > maxPairs {
		return uniqueManyKeys(items, keys)
	}
	for i, item := range items {
		fields, ok := item.(map[string]any)
		if !ok || !hasKeys(fields, keys) {
			return false
		}
		for _, before := range items[:i] {
			if sameKeys(before.(map[string]any), fields, keys) {
				return false
			}
		}
	}
	return true
}

func hasKeys(fields map[string]any, keys []string) bool {
	for _, key := range keys {
		if !isScalar(fields[key]) {
			return false
		}
	}
	return true
}

func sameKeys(a, b map[string]any, keys []string) bool {
	for _, key := range keys {
		if a[key] != b[key] {
			return false
		}
	}
	return true
}

// uniqueManyKeys leaves objects with several keys to the library.
func uniqueManyKeys(items []any, keys []string) bool {
	if len(keys) != 1 {
		return false
	}
	values := make([]any, len(items))
	for i, item := range items {
		fields, ok := item.(map[string]any)
		if !ok {
			return false
		}
		values[i] = fields[keys[0]]
	}
	return uniqueManyScalars(values)
}
