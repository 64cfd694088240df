package schemas

import (
	"k8s.io/apimachinery/pkg/util/managedfields"
)

// TypeConverter returns the type converter for the managed fields of a kind, by the name of its definition, such as
// "io.k8s.api.core.v1.ConfigMap". A kind without a definition has a converter that deduces types from values. The
// caller keeps the converter, because it is made anew by each call.
func TypeConverter(modelName string) (managedfields.TypeConverter, error) {
	return managedfields.NewDeducedTypeConverter(), nil
}
