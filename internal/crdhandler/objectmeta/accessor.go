package objectmeta

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Accessor returns the metadata of an object of an endpoint. All of them have metadata.
func Accessor(obj runtime.Object) metav1.Object {
	m, err := meta.Accessor(obj)
	if err != nil {
		panic("objectmeta: object without metadata: " + err.Error())
	}
	return m
}

// Exists reports whether obj is a stored object: only those have a UID.
func Exists(obj runtime.Object) bool {
	return obj != nil && Accessor(obj).GetUID() != ""
}
