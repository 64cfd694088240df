package managedfields

import (
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	smdschema "sigs.k8s.io/structured-merge-diff/v6/schema"
)

// merge merges an applied configuration into an object, in place, and finds the fields that the configuration owns,
// changes and adds. It handles configurations that create an object, change values and add fields. A configuration
// that contains nulls or empty values, or adds, removes or moves items of a list, is left to the library.
type merge struct {
	*comparison
	// owned are the fields of the configuration.
	owned fieldpath.Set
	// creates is set if there is no live object.
	creates bool
}

// mergeObject merges a whole configuration into obj.
func (m *merge) mergeObject(obj, config map[string]any) bool {
	t, ok := m.objectType()
	if !ok {
		return false
	}
	if m.creates {
		obj["metadata"] = map[string]any{}
	}
	for _, name := range sortedNames(config, nil) {
		switch {
		case name == "apiVersion" || name == "kind":
			ok = true
		case name == "metadata":
			ok = m.mergeMetadata(t, obj, config)
		default:
			ok = !m.reset[name] && m.mergeMember(t, name, obj, config)
		}
		if !ok {
			return false
		}
	}
	return true
}

// mergeMetadata merges the metadata of a configuration. System fields must be those of the live object.
func (m *merge) mergeMetadata(t *smdschema.Map, obj, config map[string]any) bool {
	ref, _ := memberType(t, "metadata")
	atom, ok := m.schema.Resolve(ref)
	into, ok2 := obj["metadata"].(map[string]any)
	members, ok3 := config["metadata"].(map[string]any)
	if !ok || !ok2 || !ok3 || len(members) == 0 || !granular(atom.Map) {
		return false
	}
	return m.member("metadata", func() bool {
		for _, name := range sortedNames(members, nil) {
			merge := m.mergeMember
			if systemFields[name] {
				merge = m.mergeSystemField
			} else if m.reset["metadata"] {
				return false
			}
			if !merge(atom.Map, name, into, members) {
				return false
			}
		}
		return true
	})
}

func (m *merge) mergeSystemField(t *smdschema.Map, name string, obj, config map[string]any) bool {
	text, ok := config[name].(string)
	if m.creates && ok {
		obj[name] = text
		ref, known := memberType(t, name)
		return known && m.typeCheck(ref, text, paths{})
	}
	return ok && obj[name] == text
}

// mergeMembers merges all members of a configuration's object into obj.
func (m *merge) mergeMembers(t *smdschema.Map, obj, config map[string]any) bool {
	for _, name := range sortedNames(config, nil) {
		if !m.mergeMember(t, name, obj, config) {
			return false
		}
	}
	return true
}

// mergeMember merges one member. A member that the type does not declare is owned beside the fields inside it.
func (m *merge) mergeMember(t *smdschema.Map, name string, obj, config map[string]any) bool {
	ref, ok := memberType(t, name)
	return ok && m.member(name, func() bool {
		live, exists := obj[name]
		var next any
		if exists {
			next, ok = m.merge(ref, live, config[name])
		} else {
			next, ok = m.addValue(ref, config[name])
		}
		if !ok {
			return false
		}
		obj[name] = next
		if !isDeclared(t, name) {
			m.own()
		}
		return true
	})
}

// merge returns the result of merging a value of the configuration into the live one, which it may modify.
func (m *merge) merge(ref smdschema.TypeRef, live, config any) (next any, ok bool) {
	atom, ok := m.schema.Resolve(ref)
	if !ok || !m.visit() {
		return nil, false
	}
	switch value := config.(type) {
	case nil:
		return nil, false
	case map[string]any:
		into, ok := live.(map[string]any)
		if !ok || atom.Map == nil || len(into) == 0 || len(value) == 0 {
			return nil, false
		}
		if granular(atom.Map) {
			return live, m.mergeMembers(atom.Map, into, value)
		}
		return m.mergeAtomic(ref, live, config)
	case []any:
		into, ok := live.([]any)
		if !ok || atom.List == nil || len(into) == 0 || len(value) == 0 {
			return nil, false
		}
		if associative(atom.List) {
			return live, m.mergeItems(atom.List, into, value)
		}
		return m.mergeAtomic(ref, live, config)
	}
	m.own()
	return config, m.compare(ref, live, config)
}

// mergeAtomic replaces a value that has its owners as a whole.
func (m *merge) mergeAtomic(ref smdschema.TypeRef, live, config any) (next any, ok bool) {
	m.own()
	return runtime.DeepCopyJSONValue(config), m.compareAtomic(ref, live, config)
}

// mergeItems merges a list that has the same items in the same order as the live one.
func (m *merge) mergeItems(t *smdschema.List, live, config []any) bool {
	old, ok := m.sortedItems(t, live)
	items, ok2 := m.sortedItems(t, config)
	ok = ok && ok2 && len(old) == len(items)
	for i := 0; ok && i < len(items); i++ {
		at := items[i].index
		ok = at == old[i].index && items[i].element.Equals(old[i].element) && m.inside(items[i].element, func() bool {
			next, ok := m.merge(t.ElementType, live[at], config[at])
			live[at] = next
			m.own()
			return ok
		})
	}
	return ok
}

// addValue returns a value of the configuration that the live object does not have.
func (m *merge) addValue(ref smdschema.TypeRef, config any) (next any, ok bool) {
	m.changes++
	into := paths{all: &m.added, applied: &m.owned}
	if m.creates { // no other manager can lose the field
		into.all = nil
	}
	return runtime.DeepCopyJSONValue(config), m.typeCheck(ref, config, into)
}

// own adds the current value to the fields of the configuration.
func (m *merge) own() { m.owned.Insert(m.path) }
