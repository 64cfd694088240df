package write

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"

	"github.com/crd-server/crd-server/internal/crdhandler/objectmeta"
	"github.com/crd-server/crd-server/internal/managedfields"
)

// Replacement admits and validates the new object that a PUT or PATCH has built of the existing one.
type Replacement struct {
	Admission *Admission
	// Options are the request's, as admission sees them.
	Options runtime.Object
	// Creation makes the object when it is missing; nil: that is a 404.
	Creation *Creation
	// UID is the UID of the object that the client means; empty for any.
	UID types.UID
	// Merged says that the new object is merged, as by an apply; see Proposal.Merged.
	Merged bool
	// withoutManagedFields stores the object without them: it was too large with them (W3).
	withoutManagedFields bool
}

// DropManagedFields makes the next object smaller: it is stored without its managed fields (W3).
func (r *Replacement) DropManagedFields() { r.withoutManagedFields = true }

// Live is the object that a replacement changes.
type Live struct {
	// Object is what the new object is built of, which must not be modified: the existing object or, at the scale
	// endpoint, its Scale. It is nil if the object is missing and has to be created.
	Object runtime.Object

	existing runtime.Object
	// put returns a copy of the existing object with a changed Scale in it; nil except at the scale endpoint.
	put func(scale runtime.Object) (runtime.Object, error)
}

// Live returns what the new object is built of. existing is nil if there is no object.
func (r *Replacement) Live(existing runtime.Object) (live Live, err error) {
	if existing == nil && r.Creation == nil {
		return Live{}, r.Admission.NotFound(r.Admission.Name)
	}
	if err := r.checkUID(existing); err != nil {
		return Live{}, err
	}
	live = Live{Object: existing, existing: existing}
	if scale := r.Admission.Scale; scale != nil {
		live.Object, live.put, err = scale.Edit(existing)
	}
	return live, err
}

// Admit asks mutating admission about an object that was built of a live one.
func (r *Replacement) Admit(ctx context.Context, obj runtime.Object, live Live) error {
	if live.existing == nil {
		return r.Creation.Admit(ctx, obj)
	}
	event := Event{Operation: admission.Update, Obj: obj, Old: live.Object, Options: r.Options}
	if err := r.Admission.Admit(ctx, event); err != nil {
		return err
	}
	objectmeta.DedupOwners(ctx, obj, objectmeta.DuplicateOwnersAfterAdmission)
	if r.withoutManagedFields {
		objectmeta.Accessor(obj).SetManagedFields(nil)
	}
	return nil
}

// Validate completes and validates the object by the rules of the endpoint. Validating admission is asked last, and
// then the quotas.
func (r *Replacement) Validate(ctx context.Context, obj runtime.Object, live Live) (Proposal, error) {
	if live.existing == nil {
		return r.validateNew(ctx, obj)
	}
	if live.put != nil {
		var err error
		if obj, err = live.put(obj); err != nil {
			return Proposal{}, err
		}
	}
	return r.validateUpdate(ctx, obj, live.existing)
}

// validateNew validates an object that did not exist.
func (r *Replacement) validateNew(ctx context.Context, obj runtime.Object) (Proposal, error) {
	if _, err := resourceVersionOf(obj); err != nil {
		return Proposal{}, err
	}
	objectmeta.WipeSystemFields(objectmeta.Accessor(obj))
	p, err := r.Creation.Validate(ctx, obj)
	p.Merged = r.Merged
	return p, err
}

// validateUpdate validates an object that replaces the existing one.
func (r *Replacement) validateUpdate(ctx context.Context, obj, existing runtime.Object) (_ Proposal, err error) {
	a := r.Admission
	if err := a.checkResourceVersion(ctx, obj, existing, a.Name); err != nil {
		return Proposal{}, err
	}
	allocated, err := a.allocate(ctx, obj, existing, a.DryRun)
	if err != nil {
		return Proposal{}, err
	}
	defer func() {
		if err != nil {
			allocated.End(ctx, false)
		}
	}()
	if err := a.beforeUpdate(ctx, a.Namespace, obj, existing); err != nil {
		return Proposal{}, err
	}
	// A change of nothing but times in the managed fields is no change.
	if obj, err = managedfields.KeepTimestamps(ctx, obj, existing); err != nil {
		return Proposal{}, err
	}
	if err := a.validateUpdate(ctx, obj, existing, r.Options); err != nil {
		return Proposal{}, err
	}
	event := Event{Operation: admission.Update, Obj: obj, Old: existing, Options: r.Options}
	if err := a.reserve(ctx, event); err != nil {
		return Proposal{}, err
	}
	p := Proposal{
		Obj: obj, Remove: a.finalized(obj, existing), Merged: r.Merged || a.Scale != nil, allocation: &allocated,
	}
	if a.Updated != nil && !a.DryRun {
		p.committed = func() { a.Updated(obj, existing) }
	}
	return p, nil
}

// checkUID returns an error unless the client means the existing object, or any. A new object has no UID yet.
func (r *Replacement) checkUID(existing runtime.Object) error {
	if r.UID == "" {
		return nil
	}
	uid := types.UID("")
	if existing != nil {
		uid = objectmeta.Accessor(existing).GetUID()
	}
	if r.UID != uid {
		return r.Admission.PreconditionFailed(fmt.Sprintf(
			"Precondition failed: UID in precondition: %v, UID in object meta: %v", r.UID, uid))
	}
	return nil
}

// checkResourceVersion holds an update to the state of the object it was made for (W4).
func (e *Endpoint) checkResourceVersion(ctx context.Context, obj, existing runtime.Object, name string) error {
	resource := e.Resource.GroupResource()
	revision, err := resourceVersionOf(obj)
	if err != nil {
		return err
	}
	if revision == 0 && e.Strategy.AllowUnconditionalUpdate(ctx) {
		objectmeta.Accessor(obj).SetResourceVersion(objectmeta.Accessor(existing).GetResourceVersion())
		return nil
	}
	if revision == 0 {
		kind := schema.GroupKind{Group: resource.Group, Kind: resource.Resource}
		return apierrors.NewInvalid(kind, name, field.ErrorList{
			field.Invalid(field.NewPath("metadata", "resourceVersion"), revision, "must be specified for an update")})
	}
	live, err := resourceVersionOf(existing)
	if err != nil {
		return err
	}
	if revision != live {
		return apierrors.NewConflict(resource, name, errors.New(
			"the object has been modified; please apply your changes to the latest version and try again"))
	}
	return nil
}

// resourceVersionOf returns the resourceVersion of an object; 0 if it has none.
func resourceVersionOf(obj runtime.Object) (uint64, error) {
	version := objectmeta.Accessor(obj).GetResourceVersion()
	if version == "" {
		return 0, nil
	}
	return strconv.ParseUint(version, 10, 64)
}

// StaysTerminating reports whether an object that is being deleted stays although it has no finalizers.
func (e *Endpoint) StaysTerminating(obj runtime.Object) bool {
	return e.BlocksDeletion != nil && e.BlocksDeletion(obj)
}

// finalized reports whether an update of old to obj ends a deletion by removing the last finalizer (W5).
func (e *Endpoint) finalized(obj, old runtime.Object) bool {
	oldMeta := objectmeta.Accessor(old)
	terminating := oldMeta.GetDeletionTimestamp() != nil
	if len(objectmeta.Accessor(obj).GetFinalizers()) > 0 || !terminating || e.StaysTerminating(obj) {
		return false
	}
	grace := oldMeta.GetDeletionGracePeriodSeconds()
	return grace == nil || *grace == 0
}
