package core

import (
	"crypto/tls"
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/rules"
)

// SecretRules are the rules of Secrets. No message contains a value of a Secret.
var SecretRules = resource.Typed[*corev1.Secret]{
	Name: apivalidation.NameIsDNSSubdomain, Check: checkSecret, Warn: warnAboutSecret,
	CheckUpdate: func(s, old *corev1.Secret) field.ErrorList {
		errs := apivalidation.ValidateImmutableField(s.Type, old.Type, field.NewPath("type"))
		if ptr.Deref(old.Immutable, false) {
			errs = slices.Concat(errs, checkStays("immutable", ptr.Deref(s.Immutable, false)),
				checkStays("data", reflect.DeepEqual(s.Data, old.Data)))
		}
		return slices.Concat(errs, resource.CheckMetadata(&s.ObjectMeta, apivalidation.NameIsDNSSubdomain), checkSecret(s))
	},
	WarnUpdate: func(s, _ *corev1.Secret) []string { return warnAboutSecret(s) },
}

// DefaultSecret sets the type, and moves stringData into data.
func DefaultSecret(obj runtime.Object) {
	secret := obj.(*corev1.Secret)
	resource.DefaultValue(&secret.Type, corev1.SecretTypeOpaque)
	if len(secret.StringData) > 0 && secret.Data == nil {
		secret.Data = make(map[string][]byte, len(secret.StringData))
	}
	for key, value := range secret.StringData {
		secret.Data[key] = []byte(value)
	}
	secret.StringData = nil
	withoutNulls(secret.Data)
}

// checkSecret checks the keys and the size of the data, and the keys that the type requires.
func checkSecret(secret *corev1.Secret) (errs field.ErrorList) {
	path, size := field.NewPath("data"), 0
	for _, key := range slices.Sorted(maps.Keys(secret.Data)) {
		errs = append(errs, checkKey(key, path)...)
		size += len(secret.Data[key])
	}
	return slices.Concat(errs, checkSize(size, path), checkSecretType(secret, path))
}

// checkSecretType checks that a Secret has the keys of its type.
func checkSecretType(secret *corev1.Secret, path *field.Path) field.ErrorList {
	switch secret.Type {
	case corev1.SecretTypeServiceAccountToken:
		return rules.Required(secret.Annotations[corev1.ServiceAccountNameKey],
			field.NewPath("metadata", "annotations").Key(corev1.ServiceAccountNameKey))
	case corev1.SecretTypeDockercfg:
		return checkJSONObject(secret, path, corev1.DockerConfigKey)
	case corev1.SecretTypeDockerConfigJson:
		return checkJSONObject(secret, path, corev1.DockerConfigJsonKey)
	case corev1.SecretTypeBasicAuth: // one of them is enough
		errs := requireKeys(secret, path, corev1.BasicAuthUsernameKey, corev1.BasicAuthPasswordKey)
		if len(errs) == 2 {
			return errs
		}
	case corev1.SecretTypeSSHAuth:
		return rules.Required(string(secret.Data[corev1.SSHAuthPrivateKey]), path.Key(corev1.SSHAuthPrivateKey))
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

func checkJSONObject(secret *corev1.Secret, path *field.Path, key string) field.ErrorList {
	if errs := requireKeys(secret, path, key); errs != nil {
		return errs
	}
	if err := json.Unmarshal(secret.Data[key], &map[string]any{}); err != nil {
		return field.ErrorList{field.Invalid(path.Key(key), "<secret contents redacted>", err.Error())}
	}
	return nil
}

// warnAboutSecret warns of a key that does not match its certificate.
func warnAboutSecret(secret *corev1.Secret) []string {
	if secret.Type != corev1.SecretTypeTLS {
		return nil
	}
	if _, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey]); err != nil {
		return []string{err.Error()}
	}
	return nil
}

// SecretColumns are the printed columns of Secrets.
var SecretColumns = resource.Columns[*corev1.Secret]{
	{Name: "Type", Field: "type"},
	{Name: "Data", Field: "data"},
	{Name: "Age"},
}
