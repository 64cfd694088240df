package crdhandler

import (
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// compiledTypes is the type converter of a CRD for callers that outlive an eviction from the schema cache.
type compiledTypes struct{ info *crdInfo }

func (t compiledTypes) ObjectToTyped(obj runtime.Object, options ...typed.ValidationOptions) (*typed.TypedValue, error) {
	compiled, err := t.info.compiled()
	if err != nil {
		return nil, err
	}
	return compiled.Set.TypeConverter().ObjectToTyped(obj, options...)
}

func (t compiledTypes) TypedToObject(value *typed.TypedValue) (runtime.Object, error) {
	compiled, err := t.info.compiled()
	if err != nil {
		return nil, err
	}
	return compiled.Set.TypeConverter().TypedToObject(value)
}
