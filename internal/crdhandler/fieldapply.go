package crdhandler

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	smdschema "sigs.k8s.io/structured-merge-diff/v6/schema"
)

// fieldApply lays an applied configuration over a copy of the live object, and finds what it names and what it changes. It is for what
// controllers apply again and again: the fields that they have applied before, with other values, all of them there. Then
// nothing is to be removed, and nothing changes its place.
type fieldApply struct {
	changes fieldChanges
	// named are the fields that the configuration owns.
	named fieldpath.Set
}

// apply returns live, which it does not modify, with a configuration applied to it, and its managed fields. It returns
// false where that is for the library to say.
func (u *fieldUpdates) apply(live, applied runtime.Object, manager string, force bool) (runtime.Object, bool) {
	before, ok := live.(*unstructured.Unstructured)
	config, ok2 := applied.(*unstructured.Unstructured)
	// kubectl's applies change an annotation too.
	if u == nil || !ok || !ok2 || !u.ofKind(before) || !u.ofKind(config) || hasManagedFields(config) || manager == "kubectl" {
		return nil, false
	}
	by := u.owner(manager)
	by.operation = string(metav1.ManagedFieldsOperationApply)
	obj := before.DeepCopy()
	owners, ok := readOwners(rawManagedFields(obj.Object))
	if i := slices.IndexFunc(owners, func(o fieldOwner) bool { return o.same(&by) }); !ok || i < 0 {
		return nil, false
	}
	kind, err := u.typedKind()
	if err != nil {
		return nil, false
	}
	if _, ok := findFieldChanges(kind, u.reset, before, before); !ok || !readSets(owners, &u.sets, kind, by.apiVersion) {
		return nil, false
	}
	a := &fieldApply{changes: fieldChanges{schema: kind.Schema(), reset: u.reset}}
	atom, ok := a.changes.schema.Resolve(kind.TypeRef())
	if !ok || !a.applyRoots(atom.Map, obj.Object, config.Object) || a.changes.count == 0 {
		return nil, false
	}
	if owners, ok = a.takeOver(owners, by, force); !ok {
		return nil, false
	}
	u.defaulter.Default(obj)
	slices.SortFunc(owners, compareOwners)
	return obj, writeOwners(obj, owners) == nil
}

// takeOver returns the owners after an applier has changed what it owns already. It returns false if it owns something else, or if
// there are conflicts, of which the library tells.
func (a *fieldApply) takeOver(owners []fieldOwner, by fieldOwner, force bool) ([]fieldOwner, bool) {
	for i := range owners {
		o := &owners[i]
		if o.same(&by) {
			if !o.set.Equals(&a.named) {
				return nil, false
			}
			o.time = by.time
			continue
		}
		o.lose(&a.changes.modified)
		if o.rewritten && !force {
			return nil, false
		}
	}
	return withFields(owners), true
}

// applyRoots applies a whole configuration.
func (a *fieldApply) applyRoots(t *smdschema.Map, obj, config map[string]any) bool {
	for name, value := range config {
		switch {
		case name == "apiVersion" || name == "kind":
		case name == "metadata":
			if !a.applyMetadata(t, obj[name], value) {
				return false
			}
		case a.changes.reset[name] || !a.applyMember(t, obj, name, value):
			return false
		}
	}
	return true
}

// applyMetadata applies metadata. What nobody can own must be as it is.
func (a *fieldApply) applyMetadata(root *smdschema.Map, obj, config any) bool {
	ref, ok := memberType(root, "metadata")
	atom, ok2 := a.changes.schema.Resolve(ref)
	into, ok3 := obj.(map[string]any)
	members, ok4 := config.(map[string]any)
	if !ok || !ok2 || !ok3 || !ok4 || len(members) == 0 || !granular(atom.Map) {
		return false
	}
	a.changes.steps = append(a.changes.steps, fieldStep{name: "metadata"})
	defer a.changes.leave()
	for name, value := range members {
		if neverOwned[name] {
			if text, ok := value.(string); !ok || into[name] != text {
				return false
			}
		} else if a.changes.reset["metadata"] || !a.applyMember(atom.Map, into, name, value) {
			return false
		}
	}
	return true
}

// applyMember applies a member of an object. Those that the type does not name are owned beside what is in them.
func (a *fieldApply) applyMember(t *smdschema.Map, obj map[string]any, name string, config any) bool {
	live, ok := obj[name]
	ref, ok2 := memberType(t, name)
	if !ok || !ok2 {
		return false
	}
	a.changes.steps = append(a.changes.steps, fieldStep{name: name})
	defer a.changes.leave()
	next, ok := a.apply(ref, live, config)
	if !ok {
		return false
	}
	obj[name] = next
	if _, declared := t.FindField(name); !declared {
		a.named.Insert(a.changes.at())
	}
	return true
}

// apply returns what becomes of a value. Objects and lists that are not owned as a whole are changed in place.
func (a *fieldApply) apply(ref smdschema.TypeRef, live, config any) (next any, ok bool) {
	atom, ok := a.changes.schema.Resolve(ref)
	if !ok {
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
			return live, a.applyMembers(atom.Map, into, value)
		}
		return a.applyLeaf(ref, live, config)
	case []any:
		into, ok := live.([]any)
		if !ok || atom.List == nil || len(into) == 0 || len(value) == 0 {
			return nil, false
		}
		if atom.List.ElementRelationship == smdschema.Associative {
			return live, a.applyItems(atom.List, into, value)
		}
		return a.applyLeaf(ref, live, config)
	}
	a.named.Insert(a.changes.at())
	return config, fitsScalar(atom.Scalar, live) && fitsScalar(atom.Scalar, config) && a.changes.compareScalars(live, config)
}

func (a *fieldApply) applyMembers(t *smdschema.Map, obj, config map[string]any) bool {
	return eachMember(config, func(name string, value any) bool { return a.applyMember(t, obj, name, value) })
}

// applyItems applies a list, which must not be long, that has the same items in the same order as the live one.
func (a *fieldApply) applyItems(t *smdschema.List, obj, config []any) bool {
	if len(config) > few || !sameItems(t, obj, config) {
		return false
	}
	for i, item := range config {
		ok := a.changes.visitItem(t, item, func() bool {
			if a.named.Has(a.changes.at()) {
				return false // twice in the list
			}
			next, ok := a.apply(t.ElementType, obj[i], item)
			if ok {
				obj[i] = next
				a.named.Insert(a.changes.at())
			}
			return ok
		})
		if !ok {
			return false
		}
	}
	return true
}

// applyLeaf applies a value that is owned as a whole.
func (a *fieldApply) applyLeaf(ref smdschema.TypeRef, live, config any) (next any, ok bool) {
	a.named.Insert(a.changes.at())
	return runtime.DeepCopyJSONValue(config), a.changes.declare(ref, config, nil) && a.changes.compareLeaves(ref, live, config)
}
