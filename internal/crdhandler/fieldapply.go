package crdhandler

import (
	"context"
	"slices"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	smdschema "sigs.k8s.io/structured-merge-diff/v6/schema"
)

// fieldApply lays an applied configuration over a copy of the live object, and finds what it names, what it changes and what it adds. It is for what
// appliers do mostly: to make an object, and to apply fields again with other values, or more of them, in lists that keep their items. Then
// nothing is to be removed, and nothing changes its place.
type fieldApply struct {
	changes *fieldChanges
	// named are the fields that the configuration owns.
	named fieldpath.Set
	// creates says that there is no live object.
	creates bool
}

// apply returns live, which it does not modify, with a configuration applied to it, and its managed fields. It returns
// false where that is for the library to say. It is interrupted when ctx is done.
func (u *fieldUpdates) apply(ctx context.Context, live, applied runtime.Object, manager string, force bool) (runtime.Object, bool) {
	before, ok := live.(*unstructured.Unstructured)
	config, ok2 := applied.(*unstructured.Unstructured)
	if u == nil || !ok || !ok2 || !u.ofKind(before) || !u.ofKind(config) || hasManagedFields(config) || !utf8.ValidString(manager) {
		return nil, false
	}
	by := u.owner(manager)
	by.operation = string(metav1.ManagedFieldsOperationApply)
	obj := before.DeepCopy()
	a := &fieldApply{creates: len(before.Object) == 2} // it has a kind
	owners, ok := readOwners(rawManagedFields(obj.Object))
	if !ok && !a.creates {
		return nil, false
	}
	kind, err := u.typedKind()
	if err != nil {
		return nil, false
	}
	if !a.creates && !newFieldChanges(ctx, kind, u.reset).compareObjects(before, before) || !readSets(owners, &u.sets, kind, by.apiVersion) {
		return nil, false
	}
	a.changes = newFieldChanges(ctx, kind, u.reset)
	root, ok := a.changes.root()
	if !ok || !a.applyRoots(root, obj.Object, config.Object) {
		return nil, false
	}
	if manager == "kubectl" && obj.GetAnnotations()[corev1.LastAppliedConfigAnnotation] != "" {
		return nil, false // it changes with the object
	}
	if owners, ok = a.takeOver(owners, by, force); !ok {
		return nil, false
	}
	if a.changes.count > 0 {
		u.defaulter.Default(obj)
	}
	slices.SortFunc(owners, compareOwners)
	return obj, writeOwners(obj, owners) == nil
}

// takeOver returns the owners after an applier has changed and added fields. It returns false if it leaves fields that it has owned, or if
// there are conflicts, of which the library tells.
func (a *fieldApply) takeOver(owners []fieldOwner, by fieldOwner, force bool) ([]fieldOwner, bool) {
	by.set, by.rewritten = &a.named, true
	known := false
	for i := range owners {
		o := &owners[i]
		if o.same(&by) {
			if !o.set.Difference(&a.named).Empty() {
				return nil, false
			}
			if known = true; !o.set.Equals(&a.named) {
				o.set, o.rewritten = &a.named, true
			}
			if a.changes.count > 0 {
				o.time = by.time
			}
			continue
		}
		o.lose(&a.changes.modified)
		o.lose(&a.changes.added)
		if o.rewritten && !force {
			return nil, false
		}
	}
	if !known {
		owners = append(owners, by)
	}
	changes := known || a.changes.count > 0 // or else the library has an entry without a time
	return withFields(owners), changes && !a.named.Empty()
}

// applyRoots applies a whole configuration.
func (a *fieldApply) applyRoots(t *smdschema.Map, obj, config map[string]any) bool {
	if a.creates {
		obj["metadata"] = map[string]any{}
	}
	return eachMember(config, func(name string, value any) bool {
		switch {
		case name == "apiVersion" || name == "kind":
			return true
		case name == "metadata":
			return a.applyMetadata(t, obj[name], value)
		}
		return !a.changes.reset[name] && a.applyMember(t, obj, name, value)
	})
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
	a.changes.way = append(a.changes.way, fieldStep{name: "metadata"})
	defer a.changes.leave()
	return eachMember(members, func(name string, value any) bool {
		if !neverOwned[name] {
			return !a.changes.reset["metadata"] && a.applyMember(atom.Map, into, name, value)
		}
		text, ok := value.(string)
		if a.creates {
			into[name] = text
			ref, known := memberType(atom.Map, name)
			return ok && known && a.changes.declare(ref, text, nil)
		}
		return ok && into[name] == text
	})
}

// applyMember applies a member of an object. Those that the type does not name are owned beside what is in them.
func (a *fieldApply) applyMember(t *smdschema.Map, obj map[string]any, name string, config any) bool {
	ref, ok := memberType(t, name)
	if !ok {
		return false
	}
	a.changes.way = append(a.changes.way, fieldStep{name: name})
	defer a.changes.leave()
	live, ok := obj[name]
	next, ok := a.applyValue(ref, member{live, ok}, config)
	if !ok {
		return false
	}
	obj[name] = next
	if _, declared := t.FindField(name); !declared {
		a.named.Insert(a.changes.at())
	}
	return true
}

func (a *fieldApply) applyValue(ref smdschema.TypeRef, live member, config any) (next any, ok bool) {
	if live.ok {
		return a.apply(ref, live.value, config)
	}
	into := &a.changes.added
	if a.creates { // nobody loses what is added
		into, a.changes.count = nil, a.changes.count+1
	}
	return runtime.DeepCopyJSONValue(config), a.changes.declare(ref, config, into) && a.name(ref, config)
}

// name adds what a value that is of its type owns. What is empty, or null, is the library's matter.
func (a *fieldApply) name(ref smdschema.TypeRef, config any) bool {
	a.changes.pass()
	atom, _ := a.changes.schema.Resolve(ref)
	switch value := config.(type) {
	case nil:
		return false
	case map[string]any:
		if len(value) == 0 {
			return false
		}
		if granular(atom.Map) {
			return a.nameMembers(atom.Map, value)
		}
	case []any:
		if len(value) == 0 {
			return false
		}
		if atom.List.ElementRelationship == smdschema.Associative {
			return a.nameItems(atom.List, value)
		}
	}
	a.named.Insert(a.changes.at())
	return true
}

func (a *fieldApply) nameMembers(t *smdschema.Map, config map[string]any) bool {
	return eachMember(config, func(name string, value any) bool {
		ref, _ := memberType(t, name)
		a.changes.way = append(a.changes.way, fieldStep{name: name})
		defer a.changes.leave()
		if _, declared := t.FindField(name); !declared {
			a.named.Insert(a.changes.at())
		}
		return a.name(ref, value)
	})
}

func (a *fieldApply) nameItems(t *smdschema.List, config []any) bool {
	for _, item := range a.changes.inOrder(t, config) {
		ok := a.changes.visit(item, func() bool {
			if a.named.Has(a.changes.at()) {
				return false // twice in the list
			}
			a.named.Insert(a.changes.at())
			_, isObject := item.item.(map[string]any)
			return !isObject || a.name(t.ElementType, item.item)
		})
		if !ok {
			return false
		}
	}
	return true
}

// apply returns what becomes of a value. Objects and lists that are not owned as a whole are changed in place.
func (a *fieldApply) apply(ref smdschema.TypeRef, live, config any) (next any, ok bool) {
	a.changes.pass()
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

// applyItems applies a list that has the same items in the same order as the live one.
func (a *fieldApply) applyItems(t *smdschema.List, obj, config []any) bool {
	if !sameItems(t, obj, config) {
		return false
	}
	for i, item := range a.changes.inOrder(t, config) {
		ok := a.changes.visit(item, func() bool {
			if a.named.Has(a.changes.at()) {
				return false // twice in the list
			}
			next, ok := a.apply(t.ElementType, obj[i], item.item)
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
