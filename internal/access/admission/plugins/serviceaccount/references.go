package serviceaccount

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/builtin/podspec"
)

// enforcement is the annotation of an account whose pods may only use the secrets that the account names.
const enforcement = "kubernetes.io/enforce-mountable-secrets"

func enforces(account *corev1.ServiceAccount) bool {
	enforced, err := strconv.ParseBool(account.Annotations[enforcement])
	return err == nil && enforced
}

// checkReferences refuses a pod that uses secrets which its account does not name, if the account enforces that.
func checkReferences(account *corev1.ServiceAccount, pod *corev1.Pod) error {
	if !enforces(account) {
		return nil
	}
	spec := &pod.Spec
	for n := range spec.Volumes {
		if secret := spec.Volumes[n].Secret; secret != nil && !mountable(account, secret.SecretName) {
			return fmt.Errorf("volume with secret.secretName=\"%s\" is not allowed because service account %s does not "+
				"reference that secret", secret.SecretName, account.Name)
		}
	}
	for n := range spec.InitContainers {
		if err := checkContainer(account, "init container", &spec.InitContainers[n]); err != nil {
			return err
		}
	}
	for n := range spec.Containers {
		if err := checkContainer(account, "container", &spec.Containers[n]); err != nil {
			return err
		}
	}
	for n, secret := range spec.ImagePullSecrets {
		if !slices.Contains(account.ImagePullSecrets, secret) {
			return fmt.Errorf("imagePullSecrets[%d].name=\"%s\" is not allowed because service account %s does not "+
				"reference that imagePullSecret", n, secret.Name, account.Name)
		}
	}
	return nil
}

// checkEphemeral is checkReferences for the ephemeral containers of a pod. kube-apiserver answers a forbidden reference
// with 500, because its plugin does not say that this is the fault of the client.
func (a Accounts) checkEphemeral(ctx context.Context, obj, _ runtime.Object) error {
	pod := obj.(*corev1.Pod)
	account, err := a.of(ctx, pod)
	if err != nil || !enforces(account) {
		return err
	}
	for n := range pod.Spec.EphemeralContainers {
		container := (*corev1.Container)(&pod.Spec.EphemeralContainers[n].EphemeralContainerCommon)
		if err := checkContainer(account, "ephemeral container", container); err != nil {
			return &apierrors.StatusError{ErrStatus: metav1.Status{
				Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: err.Error(),
			}}
		}
	}
	return nil
}

// checkContainer refuses variables from secrets that an account does not name. kind says in the error what the
// container is.
func checkContainer(account *corev1.ServiceAccount, kind string, container *corev1.Container) error {
	for _, variable := range container.Env {
		if secret := secretOf(&variable); secret != "" && !mountable(account, secret) {
			return fmt.Errorf("%s %s with envVar %s referencing secret.secretName=\"%s\" is not allowed because service "+
				"account %s does not reference that secret", kind, container.Name, variable.Name, secret, account.Name)
		}
	}
	for _, source := range container.EnvFrom {
		if secret := source.SecretRef; secret != nil && !mountable(account, secret.Name) {
			return fmt.Errorf("%s %s with envFrom referencing secret.secretName=\"%s\" is not allowed because service "+
				"account %s does not reference that secret", kind, container.Name, secret.Name, account.Name)
		}
	}
	return nil
}

// mountable reports whether an account names a secret.
func mountable(account *corev1.ServiceAccount, secret string) bool {
	return slices.ContainsFunc(account.Secrets, func(ref corev1.ObjectReference) bool { return ref.Name == secret })
}

// secretOf returns the name of the secret that a variable is from.
func secretOf(variable *corev1.EnvVar) string {
	if variable.ValueFrom == nil || variable.ValueFrom.SecretKeyRef == nil {
		return ""
	}
	return variable.ValueFrom.SecretKeyRef.Name
}

// referencesSecrets reports whether a pod uses secrets.
func referencesSecrets(spec *corev1.PodSpec) (found bool) {
	podspec.ForEachContainer(spec, func(container *corev1.Container) {
		for _, source := range container.EnvFrom {
			found = found || source.SecretRef != nil && source.SecretRef.Name != ""
		}
		for n := range container.Env {
			found = found || secretOf(&container.Env[n]) != ""
		}
	})
	for _, secret := range spec.ImagePullSecrets {
		found = found || secret.Name != ""
	}
	for n := range spec.Volumes {
		found = found || mountsSecret(&spec.Volumes[n].VolumeSource)
	}
	return found
}

// mountsSecret reports whether a volume uses secrets. Each type of volumes has one of three fields for that, or none.
func mountsSecret(source *corev1.VolumeSource) bool {
	types := reflect.ValueOf(source).Elem()
	for n := range types.NumField() {
		for _, name := range []string{"SecretName", "SecretRef", "NodePublishSecretRef"} {
			if types.Field(n).IsNil() {
				break
			}
			ref := types.Field(n).Elem().FieldByName(name)
			if ref.IsValid() && ref.Kind() == reflect.Pointer && !ref.IsNil() {
				ref = ref.Elem().FieldByName("Name")
			}
			if ref.IsValid() && !ref.IsZero() {
				return true
			}
		}
	}
	return source.Projected != nil && slices.ContainsFunc(source.Projected.Sources,
		func(projection corev1.VolumeProjection) bool {
			return projection.Secret != nil && projection.Secret.Name != ""
		})
}
