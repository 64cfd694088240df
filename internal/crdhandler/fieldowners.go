package crdhandler

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

// fieldOwner is an entry of the managed fields of an object, as the server writes it.
type fieldOwner struct {
	manager, operation, apiVersion, subresource, time string
	// members is the entry as the object has it.
	members map[string]any
	// set is what it owns. Nobody modifies it; rewritten says that it is not what members has.
	set       *fieldpath.Set
	rewritten bool
}

// readOwners returns the owners that managed fields, which must be some, tell of, without their sets. It returns false for all that the
// library would not write as it is.
func readOwners(raw any) ([]fieldOwner, bool) {
	items, ok := raw.([]any)
	if !ok || len(items) == 0 {
		return nil, false
	}
	owners := make([]fieldOwner, len(items))
	for i, item := range items {
		members, ok := item.(map[string]any)
		if !ok || !owners[i].read(members) {
			return nil, false
		}
		for _, other := range owners[:i] {
			if other.same(&owners[i]) {
				return nil, false
			}
		}
	}
	return owners, true
}

func (o *fieldOwner) read(members map[string]any) bool {
	o.members = members
	fieldsType := ""
	for name, value := range members {
		if name == "fieldsV1" {
			if fields, ok := value.(map[string]any); !ok || fields == nil {
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
	_, hasFields := members["fieldsV1"]
	known := o.operation == string(metav1.ManagedFieldsOperationApply) || o.operation == string(metav1.ManagedFieldsOperationUpdate)
	return hasFields && known && o.apiVersion != "" && fieldsType == "FieldsV1" && (o.time == "" || isWrittenTime(o.time))
}

// isWrittenTime holds for times as they are written: whole seconds, UTC. Such times are ordered as their text is.
func isWrittenTime(text string) bool {
	if len(text) != len("2006-01-02T15:04:05Z") {
		return false
	}
	parsed, err := time.Parse(time.RFC3339, text)
	return err == nil && !parsed.IsZero()
}

// same says whether two entries are of one owner. An applier is the same in every version.
func (o *fieldOwner) same(other *fieldOwner) bool {
	return o.manager == other.manager && o.operation == other.operation && o.subresource == other.subresource &&
		(o.apiVersion == other.apiVersion || o.applies())
}

func (o *fieldOwner) applies() bool { return o.operation == string(metav1.ManagedFieldsOperationApply) }

// readSets reads what the owners own. It returns false where there is an owner in another version than the objects have, or with
// a set that is the library's matter.
func readSets(owners []fieldOwner, sets *fieldSets, kind *typed.TypedValue, apiVersion string) bool {
	for i := range owners {
		o := &owners[i]
		if o.apiVersion != apiVersion {
			return false
		}
		if o.set = sets.read(o.members["fieldsV1"].(map[string]any), kind); o.set == nil {
			return false
		}
	}
	return true
}

// changeOwners returns the owners after a change by one of them, which need not be among them yet. Who changes or adds a field is its
// only owner, and what is removed has none. The time of an entry is that of the last change its owner has made.
func changeOwners(owners []fieldOwner, by fieldOwner, c *fieldChanges) []fieldOwner {
	if c.count > 0 && !c.alreadyOwned(owners, &by) {
		taken := c.modified.Union(&c.added)
		for i := range owners {
			owners[i].lose(taken)
			owners[i].lose(&c.removed)
		}
		if !taken.Empty() {
			by.set, by.rewritten = taken, true
		}
	}
	if c.modified.Empty() && c.added.Empty() {
		return withFields(owners)
	}
	i := slices.IndexFunc(owners, func(o fieldOwner) bool { return o.same(&by) })
	if i < 0 {
		return withFields(append(owners, by))
	}
	owners[i].time = by.time
	if by.set != nil {
		owners[i].set, owners[i].rewritten = owners[i].set.Union(by.set), true
	}
	return withFields(owners)
}

// alreadyOwned says whether nothing but values has changed, and all of them are one owner's alone.
func (c *fieldChanges) alreadyOwned(owners []fieldOwner, by *fieldOwner) bool {
	if !c.added.Empty() || !c.removed.Empty() {
		return false
	}
	owned := false
	for i := range owners {
		if owners[i].same(by) {
			owned = c.modified.Difference(owners[i].set).Empty()
		} else if !owners[i].set.Intersection(&c.modified).Empty() {
			return false
		}
	}
	return owned
}

// lose takes fields from an owner.
func (o *fieldOwner) lose(fields *fieldpath.Set) {
	if !o.set.Intersection(fields).Empty() {
		o.set, o.rewritten = o.set.Difference(fields), true
	}
}

// withFields drops owners that have nothing.
func withFields(owners []fieldOwner) []fieldOwner {
	return slices.DeleteFunc(owners, func(o fieldOwner) bool { return o.set.Empty() })
}

// compareOwners orders owners as managed fields are. Without a time an entry is as old as can be.
func compareOwners(a, b fieldOwner) int {
	return cmp.Or(cmp.Compare(a.operation, b.operation), cmp.Compare(a.seconds(), b.seconds()), cmp.Compare(a.manager, b.manager),
		cmp.Compare(a.apiVersion, b.apiVersion), cmp.Compare(a.subresource, b.subresource))
}

func (o *fieldOwner) seconds() string { return cmp.Or(o.time, "1970-01-01T00:00:00Z") }

// writeOwners gives an object, which must have metadata, the managed fields that tell of its owners.
func writeOwners(obj *unstructured.Unstructured, owners []fieldOwner) error {
	metadata := obj.Object["metadata"].(map[string]any)
	if len(owners) == 0 {
		delete(metadata, "managedFields")
		return nil
	}
	written := make([]map[string]any, len(owners))
	for i := range owners {
		if o := &owners[i]; o.rewritten {
			var err error
			if written[i], err = writeFieldSet(o.set); err != nil {
				return err
			}
		}
	}
	items := make([]any, len(owners))
	for i := range owners {
		items[i] = owners[i].entry(written[i])
	}
	metadata["managedFields"] = items
	return nil
}

// entry returns the entry of an owner, which is its old one with what is new in it. fields are nil if they are not.
func (o *fieldOwner) entry(fields map[string]any) map[string]any {
	if o.members == nil {
		o.members = map[string]any{
			"manager": o.manager, "operation": o.operation, "apiVersion": o.apiVersion, "fieldsType": "FieldsV1",
		}
		if o.subresource != "" {
			o.members["subresource"] = o.subresource
		}
	}
	if o.time != "" {
		o.members["time"] = o.time
	}
	if fields != nil {
		o.members["fieldsV1"] = fields
	}
	return o.members
}
