package core

import (
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// ServiceAccountRules are the rules of service accounts.
var ServiceAccountRules = resource.Typed[*corev1.ServiceAccount]{
	Name: apivalidation.ValidateServiceAccountName, Prepare: nameSecrets, Warn: warnAboutAccount,
	PrepareUpdate: func(a, _ *corev1.ServiceAccount) { nameSecrets(a) },
	CheckUpdate: func(a, _ *corev1.ServiceAccount) field.ErrorList {
		return resource.CheckMetadata(&a.ObjectMeta, apivalidation.ValidateServiceAccountName)
	},
	WarnUpdate: func(a, old *corev1.ServiceAccount) []string {
		if metav1.HasAnnotation(old.ObjectMeta, enforceMountableSecrets) {
			return nil
		}
		return warnAboutAccount(a)
	},
}

// nameSecrets reduces references to secrets to their names.
func nameSecrets(account *corev1.ServiceAccount) {
	for n, secret := range account.Secrets {
		account.Secrets[n] = corev1.ObjectReference{Name: secret.Name}
	}
}

// enforceMountableSecrets is a deprecated annotation.
const enforceMountableSecrets = "kubernetes.io/enforce-mountable-secrets"

func warnAboutAccount(account *corev1.ServiceAccount) []string {
	if !metav1.HasAnnotation(account.ObjectMeta, enforceMountableSecrets) {
		return nil
	}
	return []string{"metadata.annotations[" + enforceMountableSecrets + "]: deprecated in v1.32+; " +
		"prefer separate namespaces to isolate access to mounted secrets"}
}

// TokenSubresource is the subresource that issues tokens of service accounts. A request may name the account.
func TokenSubresource() resource.Subresource {
	return resource.Subresource{Name: "token", Action: &resource.Action{
		Object: &authenticationv1.TokenRequest{}, KeepsSystemFields: true,
		Default: func(obj runtime.Object) {
			resource.Default(&obj.(*authenticationv1.TokenRequest).Spec.ExpirationSeconds, 60*60)
		},
	}}
}
