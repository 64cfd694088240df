package crdhandler

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/warning"

	"github.com/crd-server/crd-server/internal/managedfields"
)

// errNoName answers a request without a name in its path that needs one.
var errNoName = apierrors.NewBadRequest("name must be provided")

// storedKind returns the kind that an object names. Upstream's messages name the kind that was sent, even if it is the
// wrong one.
func (s *requestScope) storedKind(obj runtime.Object) schema.GroupKind {
	if kinds, _, err := s.objects.typer.ObjectKinds(obj); err == nil {
		return kinds[0].GroupKind()
	}
	return s.kind.GroupKind()
}

// exists reports whether obj is a stored object: only those have a UID.
func exists(obj runtime.Object) bool {
	return obj != nil && accessor(obj).GetUID() != ""
}

// wipeSystemFields clears the fields that clients cannot set on new objects.
func wipeSystemFields(m metav1.Object) {
	m.SetCreationTimestamp(metav1.Time{})
	m.SetUID("")
	m.SetDeletionTimestamp(nil)
	m.SetDeletionGracePeriodSeconds(nil)
	m.SetSelfLink("")
}

// fillSystemFields sets the fields of a new object that the server decides.
func fillSystemFields(m metav1.Object) {
	m.SetCreationTimestamp(metav1.Now())
	m.SetUID(uuid.NewUUID())
}

// matchNamespace sets the namespace of an object to that of the request. The error says that the object names another
// one.
func matchNamespace(namespace string, m metav1.Object) error {
	switch own := m.GetNamespace(); {
	case own == namespace:
		return nil
	case own == "" || namespace == "":
		m.SetNamespace(namespace)
		return nil
	}
	return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
}

// matchName checks that an object is the one its URL names.
func matchName(obj runtime.Object, namespace, name string) error {
	m := accessor(obj)
	switch own := m.GetName(); {
	case own == "":
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s based on URL) was undeterminable: %v", name, errNoName))
	case own != name:
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", own, name))
	}
	if own := m.GetNamespace(); namespace != "" && own != "" && own != namespace {
		return apierrors.NewBadRequest(fmt.Sprintf(
			"the namespace of the object (%s) does not match the namespace on the request (%s)", own, namespace))
	}
	return nil
}

// scopedNamespace returns the namespace of the objects of a request; "" for cluster-scoped ones.
func (s *requestScope) scopedNamespace(namespace string) string {
	if s.namespaced {
		return namespace
	}
	return ""
}

// beforeCreate applies the rules for a new object, and validates it. The caller has set its system fields and its name.
func (s *requestScope) beforeCreate(ctx context.Context, namespace string, obj runtime.Object) error {
	m := accessor(obj)
	if err := matchNamespace(s.scopedNamespace(namespace), m); err != nil {
		return err
	}
	s.strategy.PrepareForCreate(ctx, obj)
	if err := ctx.Err(); err != nil {
		return err // before the validation, which takes the longest
	}

	// The strategy is first because its messages are more specific.
	errs := s.strategy.Validate(ctx, obj)
	if len(errs) == 0 {
		errs = apivalidation.ValidateObjectMetaAccessor(managedfields.ForValidation(m), s.namespaced, pathSegment, field.NewPath("metadata"))
	}
	if len(errs) > 0 {
		return invalidObject(s.storedKind(obj), m.GetName(), errs)
	}
	for _, text := range s.strategy.WarningsOnCreate(ctx, obj) {
		warning.AddWarning(ctx, "", text)
	}
	s.strategy.Canonicalize(obj)
	return nil
}

// beforeUpdate applies the rules for an update of old to obj, and validates it.
func (s *requestScope) beforeUpdate(ctx context.Context, namespace string, obj, old runtime.Object) error {
	m, oldMeta := accessor(obj), accessor(old)
	if err := matchNamespace(s.scopedNamespace(namespace), m); err != nil {
		return err
	}
	m.SetGeneration(oldMeta.GetGeneration())
	s.strategy.PrepareForUpdate(ctx, obj, old)
	keepSystemFields(m, oldMeta)
	if err := ctx.Err(); err != nil {
		return err
	}

	metadata := field.NewPath("metadata")
	errs := apivalidation.ValidateObjectMetaAccessor(managedfields.ForValidation(m), s.namespaced, pathSegment, metadata)
	errs = append(errs, apivalidation.ValidateObjectMetaAccessorUpdate(managedfields.ForValidation(m), oldMeta, metadata)...)
	errs = append(errs, s.strategy.ValidateUpdate(ctx, obj, old)...)
	if len(errs) > 0 {
		return invalidObject(s.storedKind(obj), m.GetName(), errs)
	}
	for _, text := range s.strategy.WarningsOnUpdate(ctx, obj, old) {
		warning.AddWarning(ctx, "", text)
	}
	s.strategy.Canonicalize(obj)
	return nil
}

// keepSystemFields restores the fields that no update can change or remove.
func keepSystemFields(m, old metav1.Object) {
	if m.GetUID() == "" {
		m.SetUID(old.GetUID())
	}
	if created := old.GetCreationTimestamp(); !created.IsZero() {
		m.SetCreationTimestamp(created)
	}
	if deleted := old.GetDeletionTimestamp(); !deleted.IsZero() {
		m.SetDeletionTimestamp(deleted)
	}
	if grace := old.GetDeletionGracePeriodSeconds(); grace != nil && m.GetDeletionGracePeriodSeconds() == nil {
		m.SetDeletionGracePeriodSeconds(grace)
	}
}

// pathSegment validates a name as a segment of a URL path, which every name must be.
func pathSegment(name string, prefix bool) []string {
	if prefix {
		return content.IsPathSegmentPrefix(name)
	}
	return content.IsPathSegmentName(name)
}

const (
	duplicateOwners               = ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: %v"
	duplicateOwnersAfterAdmission = ".metadata.ownerReferences contains duplicate entries after mutating admission happens; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: %v"
)

// dedupOwners removes duplicate owner references (W14), and warns in the given format.
func dedupOwners(ctx context.Context, obj runtime.Object, format string) {
	m := accessor(obj)
	refs := m.GetOwnerReferences()
	if len(refs) < 2 {
		return
	}
	kept, duplicates := uniqueOwners(refs)
	if len(duplicates) == 0 {
		return
	}
	warning.AddWarning(ctx, "", fmt.Sprintf(format, strings.Join(duplicates, ", ")))
	m.SetOwnerReferences(kept)
}

// ownerKey is an owner reference that can be compared.
type ownerKey struct {
	apiVersion, kind, name         string
	uid                            types.UID
	controller, blockOwnerDeletion string
}

func keyOf(ref metav1.OwnerReference) ownerKey {
	text := func(b *bool) string {
		if b == nil {
			return ""
		}
		return strconv.FormatBool(*b)
	}
	return ownerKey{ref.APIVersion, ref.Kind, ref.Name, ref.UID, text(ref.Controller), text(ref.BlockOwnerDeletion)}
}

// uniqueOwners returns the references without duplicates, and the UIDs of the duplicates.
func uniqueOwners(refs []metav1.OwnerReference) (kept []metav1.OwnerReference, duplicates []string) {
	seen := make(map[ownerKey]bool, len(refs))
	for _, ref := range refs {
		if key := keyOf(ref); !seen[key] {
			seen[key] = true
			kept = append(kept, ref)
		} else {
			duplicates = append(duplicates, string(ref.UID))
		}
	}
	return kept, duplicates
}
