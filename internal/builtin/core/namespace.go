package core

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/rules"
)

// NamespaceRules are the rules of namespaces. An update keeps the finalizers, which have an endpoint.
var NamespaceRules = resource.Typed[*corev1.Namespace]{
	Prepare: prepareNamespace, CheckBoth: checkNamespace, Canonical: labelNamespace,
	PrepareUpdate: func(n, old *corev1.Namespace) { n.Spec.Finalizers, n.Status = old.Spec.Finalizers, old.Status },
	CheckUpdate: func(n, old *corev1.Namespace) field.ErrorList {
		return resource.CheckMetadataUpdate(&n.ObjectMeta, &old.ObjectMeta)
	},
}

// NamespaceStatusRules are the rules of the status of namespaces.
var NamespaceStatusRules = resource.Typed[*corev1.Namespace]{
	Name: apivalidation.ValidateNamespaceName, PrepareUpdate: resource.KeepSpec[*corev1.Namespace],
	CheckUpdate: checkPhase, Canonical: labelNamespace,
}

// NamespaceFinalizeRules are the rules of the finalizers of namespaces.
var NamespaceFinalizeRules = resource.Typed[*corev1.Namespace]{
	Name:          apivalidation.ValidateNamespaceName,
	PrepareUpdate: func(n, old *corev1.Namespace) { n.Status = old.Status },
	CheckUpdate: func(n, _ *corev1.Namespace) field.ErrorList {
		return rules.Every(n.Spec.Finalizers, field.NewPath("spec", "finalizers"), checkNamespaceFinalizer)
	},
	Canonical: labelNamespace,
}

// DefaultNamespace sets the label with the name, and the phase.
func DefaultNamespace(obj runtime.Object) {
	namespace := obj.(*corev1.Namespace)
	if namespace.Name != "" {
		labelNamespace(namespace)
	}
	resource.DefaultValue(&namespace.Status.Phase, corev1.NamespaceActive)
}

// labelNamespace sets the label with the name, which may be generated after defaults are set.
func labelNamespace(n *corev1.Namespace) {
	metav1.SetMetaDataLabel(&n.ObjectMeta, corev1.LabelMetadataName, n.Name)
}

// prepareNamespace makes a namespace active. The finalizer keeps it until its content is deleted.
func prepareNamespace(n *corev1.Namespace) {
	n.Status = corev1.NamespaceStatus{Phase: corev1.NamespaceActive}
	if !slices.Contains(n.Spec.Finalizers, corev1.FinalizerKubernetes) {
		n.Spec.Finalizers = append(n.Spec.Finalizers, corev1.FinalizerKubernetes)
	}
}

func checkNamespace(n *corev1.Namespace) field.ErrorList {
	errs := resource.CheckClusterMetadata(&n.ObjectMeta, apivalidation.ValidateNamespaceName)
	for _, finalizer := range n.Spec.Finalizers {
		errs = append(errs, checkNamespaceFinalizer(finalizer, field.NewPath("spec", "finalizers"))...)
	}
	return errs
}

func checkNamespaceFinalizer(finalizer corev1.FinalizerName, path *field.Path) field.ErrorList {
	errs := apivalidation.ValidateFinalizerName(string(finalizer), path)
	return append(errs, resource.CheckFinalizerDomain(string(finalizer), path)...)
}

// checkPhase checks that the phase agrees with the deletion.
func checkPhase(n, _ *corev1.Namespace) field.ErrorList {
	path, phase, isDeleted := field.NewPath("status", "Phase"), n.Status.Phase, !n.DeletionTimestamp.IsZero()
	return append(rules.Invalid(!isDeleted && phase != corev1.NamespaceActive, path, phase,
		"may only be 'Active' if `deletionTimestamp` is empty"),
		rules.Invalid(isDeleted && phase != corev1.NamespaceTerminating, path, phase,
			"may only be 'Terminating' if `deletionTimestamp` is not empty")...)
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
