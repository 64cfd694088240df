package customresources

import (
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/crd-server/crd-server/internal/crdhandler/schemas"
)

// Types is the type converter of a CRD for callers that outlive an eviction from the schema cache.
type Types struct{ Schemas *schemas.Cached }

// ObjectToTyped implements managedfields.TypeConverter.
func (t Types) ObjectToTyped(obj runtime.Object, options ...typed.ValidationOptions) (*typed.TypedValue, error) {
	compiled, err := t.Schemas.Get()
	if err != nil {
		return nil, err
	}
	return compiled.Set.TypeConverter().ObjectToTyped(obj, options...)
}

// TypedToObject implements managedfields.TypeConverter.
func (t Types) TypedToObject(value *typed.TypedValue) (runtime.Object, error) {
	compiled, err := t.Schemas.Get()
	if err != nil {
		return nil, err
	}
	return compiled.Set.TypeConverter().TypedToObject(value)
}
