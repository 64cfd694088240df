package crdhandler

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
	"github.com/crd-server/crd-server/internal/crdhandler/stored"
	"github.com/crd-server/crd-server/internal/managedfields"
)

// replacement is the change that PUT, PATCH and apply make: it builds a new object of the existing one, asks
// admission, and validates the result.
type replacement struct {
	scope     *requestScope
	admission *admitter
	// builder makes the new object.
	builder objectBuilder
	// options are the request's, as admission sees them.
	options runtime.Object
	// creation makes the object when it is missing; nil: that is a 404.
	creation *creation
	// uid is the UID of the object that the client means; empty for any.
	uid types.UID
	// merged says that the builder merges, as an apply does; see proposal.merged.
	merged bool
	// dropManagedFields stores the object without them: it was too large with them (W3).
	dropManagedFields bool
}

// objectBuilder makes the object that a request asks for, managed fields included.
type objectBuilder interface {
	// build returns the new object, made of live, which it must not modify. live is nil if there is no object. At the
	// scale endpoint both are Scales.
	build(ctx context.Context, live runtime.Object) (runtime.Object, error)
}

var _ objectChange = &replacement{}

// run carries out the replacement. At the scale endpoint the result is the Scale.
func (r *replacement) run(ctx context.Context, noOp *noOpCheck) (updateResult, error) {
	s, a := r.scope, r.admission
	key, err := stored.Key(s.namespaced, a.namespace, a.name)
	if err != nil {
		return updateResult{}, err
	}
	update := guardedUpdate{scope: s, key: key, change: r, dryRun: a.dryRun, noOp: noOp}
	res, err := update.run(ctx)
	if err == nil && s.scale != nil {
		res.result, err = r.writtenScale(ctx, res.result)
	}
	return res, err
}

// writtenScale returns the Scale of a custom resource after a write. Its replicas are zero if the schema does not know
// their field, so that a read does not find them.
func (r *replacement) writtenScale(ctx context.Context, written result) (result, error) {
	obj, err := written.obj, error(nil)
	if written.entry != nil {
		if obj, err = r.scope.storage.Object(ctx, written.entry); err != nil {
			return result{}, r.scope.storage.APIError(err, r.admission.name)
		}
	}
	scale, err := r.scope.scale.Shown(obj)
	if err != nil {
		return result{}, apierrors.NewBadRequest(err.Error())
	}
	return result{obj: scale}, nil
}

// propose implements objectChange.
func (r *replacement) propose(ctx context.Context, existing runtime.Object) (proposal, error) {
	switch {
	case existing != nil:
		return r.update(ctx, existing)
	case r.creation != nil:
		return r.create(ctx)
	}
	return proposal{}, apierrors.NewNotFound(r.scope.resource.GroupResource(), r.admission.name)
}

// create makes the object.
func (r *replacement) create(ctx context.Context) (proposal, error) {
	if err := r.checkUID(""); err != nil {
		return proposal{}, err
	}
	obj, err := r.builder.build(ctx, nil)
	if err != nil {
		return proposal{}, err
	}
	if err := r.creation.admit(ctx, obj); err != nil {
		return proposal{}, err
	}
	if _, err := resourceVersionOf(obj); err != nil {
		return proposal{}, err
	}
	objectmeta.WipeSystemFields(objectmeta.Accessor(obj))
	if err := r.creation.validate(ctx, obj); err != nil {
		return proposal{}, err
	}
	return proposal{obj: obj, creation: r.creation, merged: r.merged, allocation: &r.creation.allocation}, nil
}

// update changes the existing object.
func (r *replacement) update(ctx context.Context, existing runtime.Object) (_ proposal, err error) {
	s, a := r.scope, r.admission
	if err := r.checkUID(objectmeta.Accessor(existing).GetUID()); err != nil {
		return proposal{}, err
	}
	obj, err := r.buildFrom(ctx, existing)
	if err != nil {
		return proposal{}, err
	}
	if err := s.checkResourceVersion(ctx, obj, existing, a.name); err != nil {
		return proposal{}, err
	}
	held, err := s.allocate(ctx, obj, existing, a.dryRun)
	if err != nil {
		return proposal{}, err
	}
	defer func() {
		if err != nil {
			held.end(ctx, false)
		}
	}()
	if err := s.beforeUpdate(ctx, a.namespace, obj, existing); err != nil {
		return proposal{}, err
	}
	// A change of nothing but times in the managed fields is no change.
	if obj, err = managedfields.KeepTimestamps(ctx, obj, existing); err != nil {
		return proposal{}, err
	}
	if err := a.validateUpdate(ctx, obj, existing, r.options); err != nil {
		return proposal{}, err
	}
	reserved := admissionEvent{operation: admission.Update, obj: obj, old: existing, options: r.options}
	if err := a.reserve(ctx, reserved); err != nil {
		return proposal{}, err
	}
	p := proposal{
		obj: obj, remove: s.finalized(obj, existing), merged: r.merged || s.scale != nil, allocation: &held,
	}
	if s.updated != nil && !a.dryRun {
		p.committed = func() { s.updated(obj, existing) }
	}
	return p, nil
}

// buildFrom returns the new object, admitted. At the scale endpoint builder and admission see Scales.
func (r *replacement) buildFrom(ctx context.Context, existing runtime.Object) (runtime.Object, error) {
	if r.scope.scale == nil {
		return r.buildAdmitted(ctx, existing)
	}
	before, merge, err := r.scope.scale.Edit(existing)
	if err != nil {
		return nil, err
	}
	after, err := r.buildAdmitted(ctx, before)
	if err != nil {
		return nil, err
	}
	return merge(after)
}

func (r *replacement) buildAdmitted(ctx context.Context, live runtime.Object) (runtime.Object, error) {
	obj, err := r.builder.build(ctx, live)
	if err != nil {
		return nil, err
	}
	if err := r.admission.admit(ctx, admissionEvent{operation: admission.Update, obj: obj, old: live, options: r.options}); err != nil {
		return nil, err
	}
	objectmeta.DedupOwners(ctx, obj, objectmeta.DuplicateOwnersAfterAdmission)
	if r.dropManagedFields {
		objectmeta.Accessor(obj).SetManagedFields(nil)
	}
	return obj, nil
}

// checkUID returns an error unless the client means the object of a UID, or any. A new object has no UID yet.
func (r *replacement) checkUID(uid types.UID) error {
	if r.uid != "" && r.uid != uid {
		return r.admission.preconditionFailed(fmt.Sprintf(
			"Precondition failed: UID in precondition: %v, UID in object meta: %v", r.uid, uid))
	}
	return nil
}

// checkResourceVersion holds an update to the state of the object it was made for (W4).
func (s *requestScope) checkResourceVersion(ctx context.Context, obj, existing runtime.Object, name string) error {
	resource := s.resource.GroupResource()
	revision, err := resourceVersionOf(obj)
	if err != nil {
		return err
	}
	if revision == 0 && s.strategy.AllowUnconditionalUpdate(ctx) {
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

// holds reports whether an object stays although it has no finalizers.
func (s *requestScope) holds(obj runtime.Object) bool { return s.held != nil && s.held(obj) }

// finalized reports whether an update of old to obj ends a deletion by removing the last finalizer (W5).
func (s *requestScope) finalized(obj, old runtime.Object) bool {
	oldMeta := objectmeta.Accessor(old)
	if len(objectmeta.Accessor(obj).GetFinalizers()) > 0 || oldMeta.GetDeletionTimestamp() == nil || s.holds(obj) {
		return false
	}
	grace := oldMeta.GetDeletionGracePeriodSeconds()
	return grace == nil || *grace == 0
}
