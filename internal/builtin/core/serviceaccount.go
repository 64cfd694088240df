package core

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// ServiceAccountRules are the rules of service accounts.
type ServiceAccountRules struct{ resource.Rules }

// PrepareForCreate reduces references to secrets to their names.
func (ServiceAccountRules) PrepareForCreate(_ context.Context, obj runtime.Object) {
	account := obj.(*corev1.ServiceAccount)
	for n, secret := range account.Secrets {
		account.Secrets[n] = corev1.ObjectReference{Name: secret.Name}
	}
}

// Validate checks the metadata.
func (ServiceAccountRules) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	return resource.CheckMetadata(&obj.(*corev1.ServiceAccount).ObjectMeta, apivalidation.ValidateServiceAccountName)
}

// PrepareForUpdate is PrepareForCreate.
func (r ServiceAccountRules) PrepareForUpdate(ctx context.Context, obj, _ runtime.Object) {
	r.PrepareForCreate(ctx, obj)
}

// ValidateUpdate checks the metadata.
func (r ServiceAccountRules) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	account, before := obj.(*corev1.ServiceAccount), old.(*corev1.ServiceAccount)
	errs := resource.CheckMetadataUpdate(&account.ObjectMeta, &before.ObjectMeta)
	return append(errs, r.Validate(ctx, obj)...)
}

// enforceMountableSecrets is a deprecated annotation.
const enforceMountableSecrets = "kubernetes.io/enforce-mountable-secrets"

// WarningsOnCreate warns of a deprecated annotation.
func (ServiceAccountRules) WarningsOnCreate(_ context.Context, obj runtime.Object) []string {
	if !metav1.HasAnnotation(obj.(*corev1.ServiceAccount).ObjectMeta, enforceMountableSecrets) {
		return nil
	}
	return []string{"metadata.annotations[" + enforceMountableSecrets + "]: deprecated in v1.32+; " +
		"prefer separate namespaces to isolate access to mounted secrets"}
}

// WarningsOnUpdate warns of a deprecated annotation that is new.
func (r ServiceAccountRules) WarningsOnUpdate(ctx context.Context, obj, old runtime.Object) []string {
	if metav1.HasAnnotation(old.(*corev1.ServiceAccount).ObjectMeta, enforceMountableSecrets) {
		return nil
	}
	return r.WarningsOnCreate(ctx, obj)
}
