package crdhandler

import (
	"bytes"
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// managedObject is an unstructured object whose managed fields are read once, and without reflection, of which
// unstructured objects make a great deal: an update has them read seven times. It changes the object that it wraps.
type managedObject struct {
	*unstructured.Unstructured
	// ctx ends work on the object, if there is one.
	ctx context.Context
	// made is what the library has made, if that is what the object is, which shares its parts with others then. passed says that the library
	// has asked for the hub version of it.
	made   *typed.TypedValue
	passed bool
	// entries are the managed fields, once they were asked for; nobody modifies them.
	entries []metav1.ManagedFieldsEntry
	known   bool
	// sets are those that were read: most of them are written again as they were.
	sets []readSet
}

// readSet is a set of fields as JSON and as the object had it. The object is the only one that has it.
type readSet struct {
	text    []byte
	members map[string]any
}

// managed returns an object with its managed fields at hand.
func managed(ctx context.Context, obj *unstructured.Unstructured) *managedObject {
	return &managedObject{Unstructured: obj, ctx: ctx}
}

// GetManagedFields returns what the unstructured object would. The caller must not modify it.
func (m *managedObject) GetManagedFields() []metav1.ManagedFieldsEntry {
	if !m.known {
		var usual bool
		if m.entries, usual = readEntries(rawManagedFields(m.Object), &m.sets); !usual {
			m.entries, m.sets = inFieldOrder(m.Unstructured.GetManagedFields()), nil
		}
		m.known = true
	}
	return m.entries
}

// SetManagedFields does what the unstructured object would do. The entries are the object's from then on.
func (m *managedObject) SetManagedFields(entries []metav1.ManagedFieldsEntry) {
	m.entries, m.known = entries, true
	if metadata, ok := m.Object["metadata"].(map[string]any); ok && entries != nil {
		if items, usual := m.writeEntries(entries); usual {
			metadata["managedFields"] = items
			return
		}
	}
	m.Unstructured.SetManagedFields(entries)
}

// DeepCopyObject returns a copy that has its managed fields at hand too.
func (m *managedObject) DeepCopyObject() runtime.Object { return managed(m.ctx, m.DeepCopy()) }

// rawManagedFields returns the managed fields of an object as it has them; nil if there are none.
func rawManagedFields(obj map[string]any) any {
	metadata, _ := obj["metadata"].(map[string]any)
	return metadata["managedFields"]
}

// checkedObject is the metadata of an unstructured object for validation, which looks at managed fields but for the sets
// in them.
type checkedObject struct{ *unstructured.Unstructured }

// checked returns the metadata of an object for validation.
func checked(m metav1.Object) metav1.Object {
	if obj, ok := m.(*unstructured.Unstructured); ok {
		return checkedObject{obj}
	}
	return m
}

// GetManagedFields returns the managed fields without their sets.
func (c checkedObject) GetManagedFields() []metav1.ManagedFieldsEntry {
	if entries, usual := readEntries(rawManagedFields(c.Object), nil); usual {
		return entries
	}
	return c.Unstructured.GetManagedFields()
}

// readEntries returns managed fields, with their sets, which it appends to sets too, or without if that is nil. usual is false for all but what the server itself
// writes: clients may send anything, and what the library makes of it is its matter.
func readEntries(raw any, sets *[]readSet) (entries []metav1.ManagedFieldsEntry, usual bool) {
	items, ok := raw.([]any)
	if !ok {
		return nil, raw == nil
	}
	entries = make([]metav1.ManagedFieldsEntry, len(items))
	for i, item := range items {
		members, ok := item.(map[string]any)
		if !ok || !readEntry(members, &entries[i], sets) {
			return nil, false
		}
	}
	return entries, true
}

func readEntry(members map[string]any, entry *metav1.ManagedFieldsEntry, sets *[]readSet) (usual bool) {
	for name, value := range members {
		if name == "fieldsV1" {
			if usual = readFields(value, entry, sets); !usual {
				return false
			}
			continue
		}
		text, ok := value.(string)
		if !ok {
			return false
		}
		switch name {
		case "manager":
			entry.Manager = text
		case "operation":
			entry.Operation = metav1.ManagedFieldsOperationType(text)
		case "apiVersion":
			entry.APIVersion = text
		case "fieldsType":
			entry.FieldsType = text
		case "subresource":
			entry.Subresource = text
		case "time":
			at, err := time.Parse(time.RFC3339, text)
			if err != nil {
				return false
			}
			entry.Time = &metav1.Time{Time: at.Local()}
		default:
			return false
		}
	}
	return true
}

func readFields(value any, entry *metav1.ManagedFieldsEntry, sets *[]readSet) (usual bool) {
	members, ok := value.(map[string]any)
	if !ok || sets == nil {
		return ok
	}
	text, err := marshalFields(members)
	if err != nil {
		return false
	}
	entry.FieldsV1 = &metav1.FieldsV1{}
	entry.FieldsV1.SetRawBytes(text)
	*sets = append(*sets, readSet{text: entry.FieldsV1.GetRawBytes(), members: members})
	return true
}

// writeEntries returns managed fields as the object is to have them.
func (m *managedObject) writeEntries(entries []metav1.ManagedFieldsEntry) (items []any, usual bool) {
	items = make([]any, len(entries))
	for i := range entries {
		if items[i], usual = m.writeEntry(&entries[i]); !usual {
			return nil, false
		}
	}
	return items, true
}

func (m *managedObject) writeEntry(entry *metav1.ManagedFieldsEntry) (members map[string]any, usual bool) {
	members = make(map[string]any, 7)
	for _, member := range [...]struct{ name, value string }{
		{"manager", entry.Manager}, {"operation", string(entry.Operation)}, {"apiVersion", entry.APIVersion},
		{"fieldsType", entry.FieldsType}, {"subresource", entry.Subresource},
	} {
		if member.value != "" {
			members[member.name] = member.value
		}
	}
	if entry.Time != nil {
		if entry.Time.IsZero() {
			return nil, false
		}
		members["time"] = entry.Time.UTC().Format(time.RFC3339)
	}
	if entry.FieldsV1 != nil {
		if members["fieldsV1"], usual = m.writeFields(entry.FieldsV1.GetRawBytes()); !usual {
			return nil, false
		}
	}
	return members, true
}

// writeFields returns a set as the object is to have it: that of one that was read, once, or a new one.
func (m *managedObject) writeFields(text []byte) (members map[string]any, usual bool) {
	for i := range m.sets {
		if bytes.Equal(m.sets[i].text, text) {
			members = m.sets[i].members
			m.sets = slices.Delete(m.sets, i, i+1)
			return members, true
		}
	}
	err := utiljson.Unmarshal(text, &members)
	return members, err == nil && members != nil
}
