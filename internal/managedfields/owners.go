package managedfields

import (
	"cmp"
	"slices"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// owner is an entry of the managed fields of an object, in the form in which servers write it.
type owner struct {
	manager, operation, apiVersion, subresource, time string
	// entry is the entry in the object, nil for a new one.
	entry map[string]any
	// fields are the fields it owns. The set may be shared and is not modified.
	fields *fieldpath.Set
	// changed is set if fields differ from those of entry.
	changed bool
}

// readOwners returns the owners in the metadata.managedFields of an object, without their fields. It returns false if
// there are none, and for entries that the library would not write in the same way.
func readOwners(managedFields any) ([]owner, bool) {
	entries, ok := managedFields.([]any)
	if !ok || len(entries) == 0 {
		return nil, false
	}
	owners := make([]owner, len(entries))
	for i, entry := range entries {
		members, ok := entry.(map[string]any)
		if !ok || !owners[i].read(members) || slices.ContainsFunc(owners[:i], owners[i].same) {
			return nil, false
		}
	}
	return owners, true
}

func (o *owner) read(entry map[string]any) bool {
	o.entry = entry
	fieldsType, hasFields := "", false
	for name, value := range entry {
		if name == "fieldsV1" {
			fields, ok := value.(map[string]any)
			if hasFields = ok && fields != nil; !hasFields {
				return false
			}
			continue
		}
		text, ok := value.(string)
		if !ok || text == "" || !utf8.ValidString(text) {
			return false
		}
		switch name {
		case "manager":
			o.manager = text
		case "operation":
			o.operation = text
		case "apiVersion":
			o.apiVersion = text
		case "fieldsType":
			fieldsType = text
		case "subresource":
			o.subresource = text
		case "time":
			o.time = text
		default:
			return false
		}
	}
	known := o.applies() || o.operation == string(metav1.ManagedFieldsOperationUpdate)
	return hasFields && known && o.apiVersion != "" && fieldsType == "FieldsV1" && (o.time == "" || isWrittenTime(o.time))
}

// isWrittenTime reports whether a time is written as servers do: whole seconds, UTC. Such texts sort like their times.
func isWrittenTime(text string) bool {
	if len(text) != len("2006-01-02T15:04:05Z") {
		return false
	}
	parsed, err := time.Parse(time.RFC3339, text)
	return err == nil && !parsed.IsZero()
}

// same reports whether two entries belong to one owner. An applier is the same owner in every version.
func (o *owner) same(other owner) bool {
	return o.manager == other.manager && o.operation == other.operation && o.subresource == other.subresource &&
		(o.apiVersion == other.apiVersion || o.applies())
}

func (o *owner) applies() bool { return o.operation == string(metav1.ManagedFieldsOperationApply) }

// readFields reads the fields of owners. It returns false if an owner uses another version of the objects, or if the
// library has to read its fields.
func readFields(owners []owner, kind *typed.TypedValue, apiVersion string) bool {
	for i := range owners {
		o := &owners[i]
		if o.apiVersion != apiVersion {
			return false
		}
		var ok bool
		if o.fields, ok = readOwnedSet(o.entry["fieldsV1"].(map[string]any), kind); !ok {
			return false
		}
	}
	return true
}

// ownersAfterUpdate returns the owners after by has made changes. A manager that modifies or adds a field becomes its
// only owner. The time of an entry is that of the owner's last change. It returns false if the context is done.
func ownersAfterUpdate(owners []owner, by owner, c *comparison) ([]owner, bool) {
	taken := c.modified.Union(&c.added)
	if i := slices.IndexFunc(owners, by.same); i >= 0 {
		by.entry, by.fields = owners[i].entry, owners[i].fields
		if taken.Empty() {
			by.time = owners[i].time
		}
		owners = slices.Delete(owners, i, i+1)
	}
	for i := range owners {
		if c.ctx.Err() != nil {
			return nil, false
		}
		owners[i].lose(taken)
		owners[i].lose(&c.removed)
	}
	by.setFields(by.fields.Union(taken).Difference(&c.removed))
	return withFields(append(owners, by)), true
}

// ownersAfterApply returns the owners after by has applied a configuration. It returns false if the manager no longer
// applies a field that it owns, if there are conflicts, which the library reports, and if the context is done.
func ownersAfterApply(owners []owner, by owner, m *merge, force bool) ([]owner, bool) {
	i := slices.IndexFunc(owners, by.same)
	switch {
	case m.owned.Empty(), i < 0 && m.changes == 0: // the library adds an entry without a time
		return nil, false
	case i >= 0:
		by.entry, by.fields = owners[i].entry, owners[i].fields
		if m.changes == 0 {
			by.time = owners[i].time
		}
		owners = slices.Delete(owners, i, i+1)
	}
	if !by.fields.Difference(&m.owned).Empty() {
		return nil, false
	}
	for i := range owners {
		owners[i].lose(&m.modified)
		owners[i].lose(&m.added)
		if owners[i].changed && !force || m.ctx.Err() != nil {
			return nil, false
		}
	}
	by.setFields(&m.owned)
	return withFields(append(owners, by)), true
}

// setFields replaces the fields of an owner.
func (o *owner) setFields(fields *fieldpath.Set) {
	if !fields.Equals(o.fields) {
		o.fields, o.changed = fields, true
	}
}

// lose removes fields from those of the owner.
func (o *owner) lose(fields *fieldpath.Set) {
	if !o.fields.Intersection(fields).Empty() {
		o.setFields(o.fields.Difference(fields))
	}
}

// withFields drops owners without fields.
func withFields(owners []owner) []owner {
	return slices.DeleteFunc(owners, func(o owner) bool { return o.fields.Empty() })
}

// writeOwners sets the managed fields of an object, which must have metadata. It modifies nothing if it returns an
// error.
func writeOwners(obj *unstructured.Unstructured, owners []owner) error {
	metadata := obj.Object["metadata"].(map[string]any)
	if len(owners) == 0 {
		delete(metadata, "managedFields")
		return nil
	}
	slices.SortFunc(owners, compareOwners)
	fields := make([]map[string]any, len(owners))
	for i := range owners {
		if o := &owners[i]; o.changed {
			var err error
			if fields[i], err = writeSet(o.fields); err != nil {
				return err
			}
		}
	}
	entries := make([]any, len(owners))
	for i := range owners {
		entries[i] = owners[i].write(fields[i])
	}
	metadata["managedFields"] = entries
	return nil
}

// compareOwners orders entries as the library does. An entry without a time is the oldest.
func compareOwners(a, b owner) int {
	return cmp.Or(cmp.Compare(a.operation, b.operation), cmp.Compare(a.sortTime(), b.sortTime()),
		cmp.Compare(a.manager, b.manager),
		cmp.Compare(a.apiVersion, b.apiVersion), cmp.Compare(a.subresource, b.subresource))
}

func (o *owner) sortTime() string { return cmp.Or(o.time, "1970-01-01T00:00:00Z") }

// write returns the entry of an owner. fields are nil if they have not changed.
func (o *owner) write(fields map[string]any) map[string]any {
	if o.entry == nil {
		o.entry = map[string]any{
			"manager": o.manager, "operation": o.operation, "apiVersion": o.apiVersion, "fieldsType": "FieldsV1",
		}
		if o.subresource != "" {
			o.entry["subresource"] = o.subresource
		}
	}
	if o.time != "" {
		o.entry["time"] = o.time
	}
	if fields != nil {
		o.entry["fieldsV1"] = fields
	}
	return o.entry
}
