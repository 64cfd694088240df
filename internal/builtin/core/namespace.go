package core

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// NamespaceRules are the rules of namespaces.
type NamespaceRules struct{ resource.Rules }

// DefaultNamespace sets the label with the name, and the phase.
func DefaultNamespace(obj runtime.Object) {
	namespace := obj.(*corev1.Namespace)
	if namespace.Name != "" {
		metav1.SetMetaDataLabel(&namespace.ObjectMeta, corev1.LabelMetadataName, namespace.Name)
	}
	if namespace.Status.Phase == "" {
		namespace.Status.Phase = corev1.NamespaceActive
	}
}

// PrepareForCreate makes a namespace active. The finalizer keeps it until its content is deleted.
func (NamespaceRules) PrepareForCreate(_ context.Context, obj runtime.Object) {
	namespace := obj.(*corev1.Namespace)
	namespace.Status = corev1.NamespaceStatus{Phase: corev1.NamespaceActive}
	if !slices.Contains(namespace.Spec.Finalizers, corev1.FinalizerKubernetes) {
		namespace.Spec.Finalizers = append(namespace.Spec.Finalizers, corev1.FinalizerKubernetes)
	}
}

// Validate checks the metadata and the finalizers.
func (NamespaceRules) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	namespace := obj.(*corev1.Namespace)
	errs := apivalidation.ValidateObjectMeta(
		&namespace.ObjectMeta, false, apivalidation.ValidateNamespaceName, metadataPath)
	errs = append(errs, resource.CheckFinalizers(&namespace.ObjectMeta)...)
	for _, finalizer := range namespace.Spec.Finalizers {
		errs = append(errs, validateNamespaceFinalizer(finalizer, field.NewPath("spec", "finalizers"))...)
	}
	return errs
}

func validateNamespaceFinalizer(finalizer corev1.FinalizerName, path *field.Path) field.ErrorList {
	errs := apivalidation.ValidateFinalizerName(string(finalizer), path)
	return append(errs, resource.CheckFinalizerDomain(string(finalizer), path)...)
}

// PrepareForUpdate keeps the status, and the finalizers, which have an endpoint.
func (NamespaceRules) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	obj.(*corev1.Namespace).Spec.Finalizers = old.(*corev1.Namespace).Spec.Finalizers
	obj.(*corev1.Namespace).Status = old.(*corev1.Namespace).Status
}

// ValidateUpdate checks the whole namespace.
func (r NamespaceRules) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	return append(r.Validate(ctx, obj), validateNamespaceMetadataUpdate(obj, old)...)
}

func validateNamespaceMetadataUpdate(obj, old runtime.Object) field.ErrorList {
	return resource.CheckMetadataUpdate(&obj.(*corev1.Namespace).ObjectMeta, &old.(*corev1.Namespace).ObjectMeta)
}

// Canonicalize sets the label with the name, which is generated after defaults are set.
func (NamespaceRules) Canonicalize(obj runtime.Object) {
	namespace := obj.(*corev1.Namespace)
	metav1.SetMetaDataLabel(&namespace.ObjectMeta, corev1.LabelMetadataName, namespace.Name)
}

// NamespaceStatusRules are the rules of the status of namespaces.
type NamespaceStatusRules struct{ NamespaceRules }

// PrepareForUpdate keeps the spec.
func (NamespaceStatusRules) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	obj.(*corev1.Namespace).Spec = old.(*corev1.Namespace).Spec
}

// ValidateUpdate checks that the phase agrees with the deletion.
func (NamespaceStatusRules) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	errs := validateNamespaceMetadataUpdate(obj, old)
	namespace, path := obj.(*corev1.Namespace), field.NewPath("status", "Phase")
	if phase := namespace.Status.Phase; namespace.DeletionTimestamp.IsZero() {
		if phase != corev1.NamespaceActive {
			errs = append(errs, field.Invalid(path, phase, "may only be 'Active' if `deletionTimestamp` is empty"))
		}
	} else if phase != corev1.NamespaceTerminating {
		errs = append(errs, field.Invalid(path, phase, "may only be 'Terminating' if `deletionTimestamp` is not empty"))
	}
	return errs
}

// NamespaceFinalizeRules are the rules of the finalizers of namespaces.
type NamespaceFinalizeRules struct{ NamespaceRules }

// PrepareForUpdate keeps the status.
func (NamespaceFinalizeRules) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	obj.(*corev1.Namespace).Status = old.(*corev1.Namespace).Status
}

// ValidateUpdate checks the finalizers.
func (NamespaceFinalizeRules) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	errs := validateNamespaceMetadataUpdate(obj, old)
	for n, finalizer := range obj.(*corev1.Namespace).Spec.Finalizers {
		errs = append(errs, validateNamespaceFinalizer(finalizer, field.NewPath("spec", "finalizers").Index(n))...)
	}
	return errs
}

// BeginNamespaceDeletion makes a namespace terminate. The first DELETE never removes it, even without finalizers.
func BeginNamespaceDeletion(obj runtime.Object) bool {
	obj.(*corev1.Namespace).Status.Phase = corev1.NamespaceTerminating
	return true
}

// NamespaceHeld reports whether a namespace still has finalizers in its spec.
func NamespaceHeld(obj runtime.Object) bool {
	return len(obj.(*corev1.Namespace).Spec.Finalizers) > 0
}

// NamespaceColumns are the printed columns of namespaces.
var NamespaceColumns = resource.Columns[*corev1.Namespace]{
	{Name: "Status", Field: "status.phase", Doc: "The status of the namespace"},
	{Name: "Age"},
}
