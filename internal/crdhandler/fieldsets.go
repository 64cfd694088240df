package crdhandler

import (
	"strings"
	"sync"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// maxSetBytes bounds the text of the sets that are kept for one endpoint. What they are read into takes some ten times that.
const maxSetBytes = 32 << 10

// fieldSets are sets of fields that were read, by their text: the objects that one manager makes mostly have the same. They hold
// for one type of objects. Nobody modifies them.
type fieldSets struct {
	mu    sync.Mutex // guards all below
	bytes int
	sets  map[string]*fieldpath.Set
}

// read returns the set that an object of a kind has as fields; nil for what the library may change as soon as it is read: because it
// would not write it in the same way, because the type of the objects has become another one, or because nobody should own what
// is in it.
func (s *fieldSets) read(fields map[string]any, kind *typed.TypedValue) *fieldpath.Set {
	encoded, err := marshalFields(fields)
	if err != nil {
		return nil
	}
	s.mu.Lock()
	set, ok := s.sets[string(encoded)]
	s.mu.Unlock()
	if !ok {
		text := string(encoded)
		set = readFieldSet(text, fields, kind)
		s.keep(text, set)
	}
	return set
}

// keep keeps a set, and forgets all others when they are too many: those in use are back soon.
func (s *fieldSets) keep(text string, set *fieldpath.Set) {
	if len(text) > maxSetBytes {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sets == nil || s.bytes+len(text) > maxSetBytes {
		s.sets, s.bytes = map[string]*fieldpath.Set{}, 0
	}
	if _, ok := s.sets[text]; !ok {
		s.sets[text] = set
		s.bytes += len(text)
	}
}

func readFieldSet(text string, fields map[string]any, kind *typed.TypedValue) *fieldpath.Set {
	set := &fieldpath.Set{}
	if err := set.FromJSON(strings.NewReader(text)); err != nil || set.Empty() || ownsSystemFields(set) {
		return nil
	}
	if written, err := writeFieldSet(set); err != nil || !sameJSON(written, fields) {
		return nil
	}
	if reconciled, err := typed.ReconcileFieldSetWithSchema(set, kind); err != nil || reconciled != nil {
		return nil
	}
	return set
}

// ownsSystemFields says whether a set has something that no manager can own.
func ownsSystemFields(set *fieldpath.Set) bool {
	for _, name := range [...]string{"apiVersion", "kind", "metadata"} {
		if set.Members.Has(fieldpath.FieldNameElement(name)) {
			return true
		}
	}
	metadata, ok := set.Children.Get(fieldpath.FieldNameElement("metadata"))
	for name := range neverOwned {
		if element := fieldpath.FieldNameElement(name); ok && metadata.Members.Has(element) {
			return true
		}
	}
	return false
}

// writeFieldSet returns a set as objects have it: what its JSON is decoded into.
func writeFieldSet(set *fieldpath.Set) (map[string]any, error) {
	fields := make(map[string]any, max(set.Members.Size(), set.Children.Size()))
	for element := range set.Members.All() {
		key, err := fieldpath.SerializePathElement(element)
		if err != nil {
			return nil, err
		}
		fields[key] = map[string]any{}
	}
	for element := range set.Children.All() {
		key, err := fieldpath.SerializePathElement(element)
		if err != nil {
			return nil, err
		}
		child, _ := set.Children.Get(element)
		within, err := writeFieldSet(child)
		if err != nil {
			return nil, err
		}
		if _, itself := fields[key]; itself {
			within["."] = map[string]any{}
		}
		fields[key] = within
	}
	return fields, nil
}
