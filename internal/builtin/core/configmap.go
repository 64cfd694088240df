package core

import (
	"maps"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/rules"
)

// ConfigMapRules are the rules of ConfigMaps.
var ConfigMapRules = resource.Typed[*corev1.ConfigMap]{
	Name: apivalidation.NameIsDNSSubdomain, Check: checkConfigMap,
	CheckUpdate: func(c, old *corev1.ConfigMap) (errs field.ErrorList) {
		if ptr.Deref(old.Immutable, false) {
			errs = slices.Concat(checkStays("immutable", ptr.Deref(c.Immutable, false)),
				checkStays("data", reflect.DeepEqual(c.Data, old.Data)),
				checkStays("binaryData", reflect.DeepEqual(c.BinaryData, old.BinaryData)))
		}
		return slices.Concat(errs, resource.CheckMetadata(&c.ObjectMeta, apivalidation.NameIsDNSSubdomain), checkConfigMap(c))
	},
}

// DefaultConfigMap makes data that is left out equal to empty data, as it is compared when a ConfigMap is immutable.
func DefaultConfigMap(obj runtime.Object) {
	configMap := obj.(*corev1.ConfigMap)
	if configMap.Data == nil {
		configMap.Data = map[string]string{}
	}
	withoutNulls(configMap.BinaryData)
}

// checkConfigMap checks the keys and the size of the data.
func checkConfigMap(c *corev1.ConfigMap) (errs field.ErrorList) {
	data, size := field.NewPath("data"), 0
	for _, key := range slices.Sorted(maps.Keys(c.Data)) {
		_, isTwice := c.BinaryData[key]
		errs = append(errs, slices.Concat(checkKey(key, data),
			rules.Invalid(isTwice, data.Key(key), key, "duplicate of key present in binaryData"))...)
		size += len(c.Data[key])
	}
	for _, key := range slices.Sorted(maps.Keys(c.BinaryData)) {
		errs = append(errs, checkKey(key, field.NewPath("binaryData"))...)
		size += len(c.BinaryData[key])
	}
	return append(errs, checkSize(size, field.NewPath(""))...)
}

// checkKey checks a key of the data of a ConfigMap or Secret.
func checkKey(key string, path *field.Path) field.ErrorList {
	return rules.Messages(path.Key(key), key, validation.IsConfigMapKey(key))
}

// checkSize checks the size of the data of a ConfigMap or Secret, which have the same limit.
func checkSize(size int, path *field.Path) field.ErrorList {
	return rules.When(size > corev1.MaxSecretSize, field.TooLong(path, "", corev1.MaxSecretSize))
}

// checkStays checks that a field of an immutable object is unchanged.
func checkStays(name string, unchanged bool) field.ErrorList {
	return rules.Forbidden(!unchanged, field.NewPath(name), "field is immutable when `immutable` is set")
}

// withoutNulls replaces nil values by empty ones. kube-apiserver stores protobuf, which does not tell them apart.
func withoutNulls(data map[string][]byte) {
	for key, value := range data {
		if value == nil {
			data[key] = []byte{}
		}
	}
}

// ConfigMapColumns are the printed columns of ConfigMaps.
var ConfigMapColumns = resource.Columns[*corev1.ConfigMap]{
	{Name: "Data", Field: "data", Cell: func(configMap *corev1.ConfigMap) any {
		return int64(len(configMap.Data) + len(configMap.BinaryData))
	}},
	{Name: "Age"},
}
