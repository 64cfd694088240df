package core

import (
	"context"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// ConfigMapRules are the rules of ConfigMaps.
type ConfigMapRules struct{ resource.Rules }

// DefaultConfigMap makes data that is left out equal to empty data, as it is compared when a ConfigMap is immutable.
func DefaultConfigMap(obj runtime.Object) {
	configMap := obj.(*corev1.ConfigMap)
	if configMap.Data == nil {
		configMap.Data = map[string]string{}
	}
	withoutNulls(configMap.BinaryData)
}

// Validate checks the metadata, and the keys and the size of the data.
func (ConfigMapRules) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	configMap := obj.(*corev1.ConfigMap)
	errs := resource.CheckMetadata(&configMap.ObjectMeta, apivalidation.NameIsDNSSubdomain)
	size := 0
	for _, key := range sorted(configMap.Data) {
		path := field.NewPath("data")
		errs = append(errs, validateKey(key, path)...)
		if _, found := configMap.BinaryData[key]; found {
			errs = append(errs, field.Invalid(path.Key(key), key, "duplicate of key present in binaryData"))
		}
		size += len(configMap.Data[key])
	}
	for _, key := range sorted(configMap.BinaryData) {
		errs = append(errs, validateKey(key, field.NewPath("binaryData"))...)
		size += len(configMap.BinaryData[key])
	}
	if size > corev1.MaxSecretSize { // the limit of both kinds
		errs = append(errs, field.TooLong(field.NewPath(""), "", corev1.MaxSecretSize))
	}
	return errs
}

// ValidateUpdate also checks that an immutable ConfigMap does not change.
func (r ConfigMapRules) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	configMap, before := obj.(*corev1.ConfigMap), old.(*corev1.ConfigMap)
	errs := resource.CheckMetadataUpdate(&configMap.ObjectMeta, &before.ObjectMeta)
	if isTrue(before.Immutable) {
		errs = append(errs, validateUnchanged("immutable", isTrue(configMap.Immutable))...)
		errs = append(errs, validateUnchanged("data", reflect.DeepEqual(configMap.Data, before.Data))...)
		errs = append(errs, validateUnchanged("binaryData", reflect.DeepEqual(configMap.BinaryData, before.BinaryData))...)
	}
	return append(errs, r.Validate(ctx, obj)...)
}

func isTrue(b *bool) bool { return b != nil && *b }

// validateUnchanged returns the error of a field of an immutable object, unless it is unchanged.
func validateUnchanged(name string, unchanged bool) field.ErrorList {
	if unchanged {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath(name), "field is immutable when `immutable` is set")}
}

// ConfigMapColumns are the printed columns of ConfigMaps.
var ConfigMapColumns = resource.Columns[*corev1.ConfigMap]{
	{Name: "Data", Field: "data", Cell: func(configMap *corev1.ConfigMap) any {
		return int64(len(configMap.Data) + len(configMap.BinaryData))
	}},
	{Name: "Age"},
}
