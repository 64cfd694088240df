package crdhandler

import (
	"context"
	"slices"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// fieldUpdates keeps account of who has set which fields where the library, which can do it for everything, need not: in writes of
// objects as they usually are. It does what the library would do, to the byte, or nothing.
type fieldUpdates struct {
	types       managedfields.TypeConverter
	defaulter   runtime.ObjectDefaulter
	kind        schema.GroupVersionKind
	subresource string
	// reset are the members of objects whose changes do not count at this endpoint.
	reset map[string]bool
	sets  fieldSets
}

// newFieldUpdates returns nil for an endpoint whose rules it cannot tell.
func newFieldUpdates(p fieldManagerParts) *fieldUpdates {
	reset := map[string]bool{}
	if set := p.reset[fieldpath.APIVersion(p.kind.GroupVersion().String())]; set != nil {
		if !set.Children.Empty() {
			return nil
		}
		for element := range set.Members.All() {
			if element.FieldName == nil {
				return nil
			}
			reset[*element.FieldName] = true
		}
	}
	if p.hub != p.kind.GroupVersion() {
		return nil
	}
	return &fieldUpdates{types: p.types, defaulter: p.objects.defaulter, kind: p.kind, subresource: p.subresource, reset: reset}
}

// update gives obj the managed fields that follow from a manager's change of live, which it does not modify, into it. It
// returns false, and has done nothing, where that is for the library to say. It is interrupted when ctx is done.
func (u *fieldUpdates) update(ctx context.Context, live, obj runtime.Object, manager string) (done bool) {
	before, ok := live.(*unstructured.Unstructured)
	after, ok2 := obj.(*unstructured.Unstructured)
	if u == nil || !ok || !ok2 || !u.ofKind(before) || !u.ofKind(after) || !utf8.ValidString(manager) {
		return false
	}
	if _, ok := after.Object["metadata"].(map[string]any); !ok {
		return false
	}
	owners, ok := u.owners(before, after)
	if !ok {
		return false
	}
	kind, err := u.typedKind()
	if err != nil {
		return false
	}
	changes := newFieldChanges(ctx, kind, u.reset)
	by := u.owner(manager)
	if !changes.compareObjects(before, after) || !readSets(owners, &u.sets, kind, by.apiVersion) {
		return false
	}
	owners = changeOwners(owners, by, changes)
	if tooManyUpdates(owners) {
		return false
	}
	slices.SortFunc(owners, compareOwners)
	return writeOwners(after, owners) == nil
}

func (u *fieldUpdates) ofKind(obj *unstructured.Unstructured) bool {
	apiVersion, kind := u.kind.ToAPIVersionAndKind()
	return obj.Object["apiVersion"] == apiVersion && obj.Object["kind"] == kind
}

// typedKind returns an object with nothing but its kind, for its type, which may be compiled anew from time to time.
func (u *fieldUpdates) typedKind() (*typed.TypedValue, error) {
	apiVersion, kind := u.kind.ToAPIVersionAndKind()
	return u.types.ObjectToTyped(&unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}})
}

// owner returns the owner that a manager is by an update, now.
func (u *fieldUpdates) owner(manager string) fieldOwner {
	if manager == "" {
		manager = "unknown"
	}
	return fieldOwner{
		manager: manager, operation: string(metav1.ManagedFieldsOperationUpdate), apiVersion: u.kind.GroupVersion().String(),
		subresource: u.subresource, time: time.Now().UTC().Format(time.RFC3339),
	}
}

// owners returns the owners of the fields before a change: those the new object tells of, for clients may change them, unless the
// endpoint is a subresource's; or else those of the live object. None of it is the live object's.
func (u *fieldUpdates) owners(live, obj *unstructured.Unstructured) ([]fieldOwner, bool) {
	old, sent := rawManagedFields(live.Object), rawManagedFields(obj.Object)
	switch {
	case old == nil && sent == nil:
		// A stored object without managed fields stays without.
		return nil, live.GetUID() == "" && !hasManagedFields(live) && !hasManagedFields(obj)
	case sent == nil && hasManagedFields(obj):
		return nil, false
	case old != nil:
		if _, ok := readOwners(old); !ok {
			return nil, false
		}
	}
	if sent == nil || u.subresource != "" && !sameJSON(old, sent) {
		sent = runtime.DeepCopyJSONValue(old)
	}
	return readOwners(sent)
}

// hasManagedFields says whether an object has managed fields, be they null.
func hasManagedFields(obj *unstructured.Unstructured) bool {
	metadata, _ := obj.Object["metadata"].(map[string]any)
	_, ok := metadata["managedFields"]
	return ok
}

// maxUpdates is how many entries of updates the library leaves as they are.
const maxUpdates = 10

func tooManyUpdates(owners []fieldOwner) bool {
	updates := 0
	for i := range owners {
		if !owners[i].applies() {
			updates++
		}
	}
	return updates > maxUpdates
}
