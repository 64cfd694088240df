package core

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// SecretRules are the rules of Secrets. No message contains a value of a Secret.
type SecretRules struct{ resource.Rules }

// DefaultSecret sets the type, and moves stringData into data.
func DefaultSecret(obj runtime.Object) {
	secret := obj.(*corev1.Secret)
	if secret.Type == "" {
		secret.Type = corev1.SecretTypeOpaque
	}
	if len(secret.StringData) > 0 && secret.Data == nil {
		secret.Data = make(map[string][]byte, len(secret.StringData))
	}
	for key, value := range secret.StringData {
		secret.Data[key] = []byte(value)
	}
	secret.StringData = nil
	withoutNulls(secret.Data)
}

// Validate checks the metadata, the keys and the size of the data, and the keys that the type requires.
func (SecretRules) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	secret, path := obj.(*corev1.Secret), field.NewPath("data")
	errs := resource.CheckMetadata(&secret.ObjectMeta, apivalidation.NameIsDNSSubdomain)
	size := 0
	for _, key := range sorted(secret.Data) {
		errs = append(errs, validateKey(key, path)...)
		size += len(secret.Data[key])
	}
	if size > corev1.MaxSecretSize {
		errs = append(errs, field.TooLong(path, "", corev1.MaxSecretSize))
	}
	return append(errs, validateSecretType(secret, path)...)
}

// validateSecretType checks that a Secret has the keys of its type.
func validateSecretType(secret *corev1.Secret, path *field.Path) field.ErrorList {
	switch secret.Type {
	case corev1.SecretTypeServiceAccountToken:
		if secret.Annotations[corev1.ServiceAccountNameKey] == "" {
			annotation := metadataPath.Child("annotations").Key(corev1.ServiceAccountNameKey)
			return field.ErrorList{field.Required(annotation, "")}
		}
	case corev1.SecretTypeDockercfg:
		return validateJSONObject(secret, path, corev1.DockerConfigKey)
	case corev1.SecretTypeDockerConfigJson:
		return validateJSONObject(secret, path, corev1.DockerConfigJsonKey)
	case corev1.SecretTypeBasicAuth: // one of them is enough
		errs := requireKeys(secret, path, corev1.BasicAuthUsernameKey, corev1.BasicAuthPasswordKey)
		if len(errs) == 2 {
			return errs
		}
	case corev1.SecretTypeSSHAuth:
		if len(secret.Data[corev1.SSHAuthPrivateKey]) == 0 {
			return field.ErrorList{field.Required(path.Key(corev1.SSHAuthPrivateKey), "")}
		}
	case corev1.SecretTypeTLS:
		return requireKeys(secret, path, corev1.TLSCertKey, corev1.TLSPrivateKeyKey)
	}
	return nil
}

func requireKeys(secret *corev1.Secret, path *field.Path, keys ...string) (errs field.ErrorList) {
	for _, key := range keys {
		if _, found := secret.Data[key]; !found {
			errs = append(errs, field.Required(path.Key(key), ""))
		}
	}
	return errs
}

func validateJSONObject(secret *corev1.Secret, path *field.Path, key string) field.ErrorList {
	if errs := requireKeys(secret, path, key); errs != nil {
		return errs
	}
	if err := json.Unmarshal(secret.Data[key], &map[string]any{}); err != nil {
		return field.ErrorList{field.Invalid(path.Key(key), "<secret contents redacted>", err.Error())}
	}
	return nil
}

// ValidateUpdate also checks that the type does not change, and an immutable Secret not at all.
func (r SecretRules) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	secret, before := obj.(*corev1.Secret), old.(*corev1.Secret)
	errs := resource.CheckMetadataUpdate(&secret.ObjectMeta, &before.ObjectMeta)
	errs = append(errs, apivalidation.ValidateImmutableField(secret.Type, before.Type, field.NewPath("type"))...)
	if isTrue(before.Immutable) {
		errs = append(errs, validateUnchanged("immutable", isTrue(secret.Immutable))...)
		errs = append(errs, validateUnchanged("data", reflect.DeepEqual(secret.Data, before.Data))...)
	}
	return append(errs, r.Validate(ctx, obj)...)
}

// WarningsOnCreate warns of a key that does not match its certificate.
func (SecretRules) WarningsOnCreate(_ context.Context, obj runtime.Object) []string {
	secret := obj.(*corev1.Secret)
	if secret.Type != corev1.SecretTypeTLS {
		return nil
	}
	if _, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey]); err != nil {
		return []string{err.Error()}
	}
	return nil
}

// WarningsOnUpdate is WarningsOnCreate.
func (r SecretRules) WarningsOnUpdate(ctx context.Context, obj, _ runtime.Object) []string {
	return r.WarningsOnCreate(ctx, obj)
}

// SecretColumns are the printed columns of Secrets.
var SecretColumns = resource.Columns[*corev1.Secret]{
	{Name: "Type", Field: "type"},
	{Name: "Data", Field: "data"},
	{Name: "Age"},
}
