package write

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/warning"

	"github.com/crd-server/crd-server/internal/crdhandler/objectmeta"
	"github.com/crd-server/crd-server/internal/managedfields"
)

// StoredKind returns the kind that an object names. Upstream's messages name the kind that was sent, even if it is the
// wrong one. Those of a built-in resource that is stored in another group name the kind in that group.
func (e *Endpoint) StoredKind(obj runtime.Object) schema.GroupKind {
	if !e.StorageKind.Empty() {
		return e.StorageKind
	}
	if kinds, _, err := e.Interfaces.Typer.ObjectKinds(obj); err == nil {
		return kinds[0].GroupKind()
	}
	return e.Kind.GroupKind()
}

// ScopedNamespace returns the namespace of the objects of a request; "" for cluster-scoped ones.
func (e *Endpoint) ScopedNamespace(namespace string) string {
	if e.Namespaced {
		return namespace
	}
	return ""
}

// checkTypedMetadata refuses an object of a Go type with too many entries in its metadata. Those of custom resources
// are counted when they are decoded.
func (e *Endpoint) checkTypedMetadata(m metav1.Object) error {
	if !e.Typed {
		return nil
	}
	return objectmeta.CheckEntries(m)
}

// validateMetadata returns the errors in the metadata of any object.
func (e *Endpoint) validateMetadata(m metav1.Object) field.ErrorList {
	return apivalidation.ValidateObjectMetaAccessor(
		m, e.Namespaced, pathSegment, field.NewPath("metadata"))
}

// pathSegment returns what is wrong with a name, or the prefix of one, that is part of a path.
func pathSegment(name string, prefix bool) []string {
	if prefix {
		return content.IsPathSegmentPrefix(name)
	}
	return content.IsPathSegmentName(name)
}

// beforeCreate applies the rules for a new object, and validates it. The caller has set its system fields and its name.
func (e *Endpoint) beforeCreate(ctx context.Context, namespace string, obj runtime.Object) error {
	m := objectmeta.Accessor(obj)
	if err := objectmeta.MatchNamespace(e.ScopedNamespace(namespace), m); err != nil {
		return err
	}
	if err := e.checkTypedMetadata(m); err != nil {
		return err
	}
	e.Strategy.PrepareForCreate(ctx, obj)
	if err := ctx.Err(); err != nil {
		return err // before the validation, which takes the longest
	}

	// The strategy is first because its messages are more specific.
	errs := e.Strategy.Validate(ctx, obj)
	if len(errs) == 0 {
		errs = e.validateMetadata(managedfields.ForValidation(m))
	}
	if len(errs) > 0 {
		return invalidObject(e.StoredKind(obj), m.GetName(), e.reported(errs))
	}
	for _, text := range e.Strategy.WarningsOnCreate(ctx, obj) {
		warning.AddWarning(ctx, "", text)
	}
	e.Strategy.Canonicalize(obj)
	return nil
}

// beforeUpdate applies the rules for an update of old to obj, and validates it.
func (e *Endpoint) beforeUpdate(ctx context.Context, namespace string, obj, old runtime.Object) error {
	m, oldMeta := objectmeta.Accessor(obj), objectmeta.Accessor(old)
	if err := objectmeta.MatchNamespace(e.ScopedNamespace(namespace), m); err != nil {
		return err
	}
	if err := e.checkTypedMetadata(m); err != nil {
		return err
	}
	m.SetGeneration(oldMeta.GetGeneration())
	e.Strategy.PrepareForUpdate(ctx, obj, old)
	objectmeta.KeepSystemFields(m, oldMeta)
	if err := ctx.Err(); err != nil {
		return err
	}

	validated := managedfields.ForValidation(m)
	errs := e.validateMetadata(validated)
	errs = append(errs, apivalidation.ValidateObjectMetaAccessorUpdate(validated, oldMeta, field.NewPath("metadata"))...)
	errs = append(errs, e.Strategy.ValidateUpdate(ctx, obj, old)...)
	if len(errs) > 0 {
		return invalidObject(e.StoredKind(obj), m.GetName(), e.reported(errs))
	}
	for _, text := range e.Strategy.WarningsOnUpdate(ctx, obj, old) {
		warning.AddWarning(ctx, "", text)
	}
	e.Strategy.Canonicalize(obj)
	return nil
}

// An answer about an invalid object has at most maxErrors errors, and no more after their text has maxErrorBytes.
// See docs/upstream.md, "Quadratic messages of error lists".
const (
	maxErrors     = 1000
	maxErrorBytes = 1 << 20
)

// reported returns the errors of an object that the answer lists. For built-in resources kube-apiserver leaves out
// errors that repeat others, because it merges them with those of declarative validation.
func (e *Endpoint) reported(errs field.ErrorList) field.ErrorList {
	if !e.UniqueErrors {
		return errs
	}
	seen := make(map[string]bool, len(errs))
	return slices.DeleteFunc(errs, func(err *field.Error) bool {
		text := err.Error()
		repeated := seen[text]
		seen[text] = true
		return repeated
	})
}

// invalidObject returns the answer to an object with errors.
func invalidObject(kind schema.GroupKind, name string, errs field.ErrorList) error {
	if kept := answered(errs); kept < len(errs) {
		errs = append(errs[:kept:kept], &field.Error{
			Type: field.ErrorTypeTooMany, BadValue: len(errs),
			Detail: "there are more errors; correct these to see the others"})
	}
	return apierrors.NewInvalid(kind, name, errs)
}

// answered returns how many errors an answer has. An error may contain the whole object: that of each owner reference
// that says it is the controller, for example, contains all owner references.
func answered(errs field.ErrorList) (count int) {
	for size := 0; count < min(len(errs), maxErrors) && size < maxErrorBytes; count++ {
		size += len(errs[count].ErrorBody())
	}
	return count
}
