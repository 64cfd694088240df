package crdhandler

import (
	"context"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/warning"

	"github.com/crd-server/crd-server/internal/crdhandler/objectmeta"
	"github.com/crd-server/crd-server/internal/managedfields"
)

// storedKind returns the kind that an object names. Upstream's messages name the kind that was sent, even if it is the
// wrong one. Those of a built-in resource that is stored in another group name the kind in that group.
func (s *requestScope) storedKind(obj runtime.Object) schema.GroupKind {
	if !s.storageKind.Empty() {
		return s.storageKind
	}
	if kinds, _, err := s.objects.typer.ObjectKinds(obj); err == nil {
		return kinds[0].GroupKind()
	}
	return s.kind.GroupKind()
}

// scopedNamespace returns the namespace of the objects of a request; "" for cluster-scoped ones.
func (s *requestScope) scopedNamespace(namespace string) string {
	if s.namespaced {
		return namespace
	}
	return ""
}

// checkTypedMetadata refuses an object of a Go type with too many entries in its metadata. Those of custom resources are
// counted when they are decoded.
func (s *requestScope) checkTypedMetadata(m metav1.Object) error {
	if !s.typed {
		return nil
	}
	return objectmeta.CheckEntries(m)
}

// beforeCreate applies the rules for a new object, and validates it. The caller has set its system fields and its name.
func (s *requestScope) beforeCreate(ctx context.Context, namespace string, obj runtime.Object) error {
	m := objectmeta.Accessor(obj)
	if err := objectmeta.MatchNamespace(s.scopedNamespace(namespace), m); err != nil {
		return err
	}
	if err := s.checkTypedMetadata(m); err != nil {
		return err
	}
	s.strategy.PrepareForCreate(ctx, obj)
	if err := ctx.Err(); err != nil {
		return err // before the validation, which takes the longest
	}

	// The strategy is first because its messages are more specific.
	errs := s.strategy.Validate(ctx, obj)
	if len(errs) == 0 {
		errs = apivalidation.ValidateObjectMetaAccessor(managedfields.ForValidation(m), s.namespaced, objectmeta.PathSegment, field.NewPath("metadata"))
	}
	if len(errs) > 0 {
		return invalidObject(s.storedKind(obj), m.GetName(), s.reported(errs))
	}
	for _, text := range s.strategy.WarningsOnCreate(ctx, obj) {
		warning.AddWarning(ctx, "", text)
	}
	s.strategy.Canonicalize(obj)
	return nil
}

// beforeUpdate applies the rules for an update of old to obj, and validates it.
func (s *requestScope) beforeUpdate(ctx context.Context, namespace string, obj, old runtime.Object) error {
	m, oldMeta := objectmeta.Accessor(obj), objectmeta.Accessor(old)
	if err := objectmeta.MatchNamespace(s.scopedNamespace(namespace), m); err != nil {
		return err
	}
	if err := s.checkTypedMetadata(m); err != nil {
		return err
	}
	m.SetGeneration(oldMeta.GetGeneration())
	s.strategy.PrepareForUpdate(ctx, obj, old)
	objectmeta.KeepSystemFields(m, oldMeta)
	if err := ctx.Err(); err != nil {
		return err
	}

	metadata := field.NewPath("metadata")
	errs := apivalidation.ValidateObjectMetaAccessor(managedfields.ForValidation(m), s.namespaced, objectmeta.PathSegment, metadata)
	errs = append(errs, apivalidation.ValidateObjectMetaAccessorUpdate(managedfields.ForValidation(m), oldMeta, metadata)...)
	errs = append(errs, s.strategy.ValidateUpdate(ctx, obj, old)...)
	if len(errs) > 0 {
		return invalidObject(s.storedKind(obj), m.GetName(), s.reported(errs))
	}
	for _, text := range s.strategy.WarningsOnUpdate(ctx, obj, old) {
		warning.AddWarning(ctx, "", text)
	}
	s.strategy.Canonicalize(obj)
	return nil
}
