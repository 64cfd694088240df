package validation

import (
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// uniqueLists is what of a schema leads to lists of type set and map, and is one of those if it has a listType. It is nil
// where there are none. The library copies every schema it passes instead.
type uniqueLists struct {
	listType   string
	keys       []string
	items      *uniqueLists
	additional *uniqueLists
	properties map[string]*uniqueLists
}

// lists returns the lists of the version whose items must be unique.
func (v *Version) lists() (*uniqueLists, error) {
	return v.uniqueLists.get(func() (*uniqueLists, error) {
		s, err := v.Structural()
		if err != nil || s == nil {
			return nil, err
		}
		return compileLists(*s), nil
	})
}

// compileLists takes a value for the reason that census.add does. What leads to no list costs nothing.
func compileLists(s structuralschema.Structural) *uniqueLists {
	var l uniqueLists
	if s.Items != nil {
		l.items = compileLists(*s.Items)
	}
	if isKeyed(&s) {
		l.listType, l.keys = *s.XListType, s.XListMapKeys
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
		l.additional = compileLists(*s.AdditionalProperties.Structural)
	}
	for name := range s.Properties {
		if deeper := compileLists(s.Properties[name]); deeper != nil {
			if l.properties == nil {
				l.properties = map[string]*uniqueLists{}
			}
			l.properties[name] = deeper
		}
	}
	if l.listType == "" && l.items == nil && l.additional == nil && l.properties == nil {
		return nil
	}
	kept := l
	return &kept
}

// validateUnique holds the items of lists of type set and map to be unique. The library is asked where that is not obvious.
func (v *Version) validateUnique(lists *uniqueLists, obj map[string]any) field.ErrorList {
	if lists.obvious(obj) {
		return nil
	}
	keyed, err := v.keyed()
	if err != nil {
		return internalError(err)
	}
	return listtype.ValidateListSetsAndMaps(nil, keyed, obj)
}

// obvious says whether the library would find no item twice in a value. It may say no without need, but never yes.
func (l *uniqueLists) obvious(value any) bool {
	if l == nil {
		return true
	}
	switch value := value.(type) {
	case map[string]any:
		return l.obviousInObject(value)
	case []any:
		return l.obviousInList(value)
	}
	return true
}

func (l *uniqueLists) obviousInObject(fields map[string]any) bool {
	if l.additional != nil {
		for _, value := range fields {
			if !l.additional.obvious(value) {
				return false
			}
		}
	}
	for name, property := range l.properties {
		if !property.obvious(fields[name]) {
			return false
		}
	}
	return true
}

func (l *uniqueLists) obviousInList(items []any) bool {
	switch l.listType {
	case "set":
		if !uniqueScalars(items) {
			return false
		}
	case "map":
		if !uniqueKeys(items, l.keys) {
			return false
		}
	}
	if l.items == nil {
		return true
	}
	for _, item := range items {
		if !l.items.obvious(item) {
			return false
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
