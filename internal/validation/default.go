package validation

import (
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ErrTooLarge means that the defaults of an object take much more space than etcd accepts.
var ErrTooLarge = errors.New("object is too large with its defaults")

// The size of the defaults that an object may get, in bytes. A request body of empty items could ask for a million
// large defaults.
const (
	// MaxDefaults is for an object to be written. It is more than etcd accepts: the client stops at 2 MiB, the embedded
	// server at 4 MiB.
	MaxDefaults = 4 << 20
	// MaxStoredDefaults is for a stored object, which may be older than the defaults.
	MaxStoredDefaults = 64 << 20
)

// Default sets the defaults of the schema of the object's version (T4). It does not change objects of other kinds, or
// of versions that the CRD does not have. It returns ErrTooLarge if the defaults take more than limit bytes.
func (s *Set) Default(obj map[string]any, limit int) error {
	u := unstructured.Unstructured{Object: obj}
	gvk := u.GroupVersionKind()
	if gvk.GroupKind() != s.kind {
		return nil
	}
	v := s.Version(gvk.Version)
	if v == nil {
		return nil
	}
	schema, err := v.objectSchema()
	if err != nil {
		return err
	}
	return schema.setDefaults(obj, limit)
}

// HasDefaulted reports whether an object has all top-level fields with a default. The object may lack others unless its
// defaults have been set, and only top-level fields were removed since then.
func (v *Version) HasDefaulted(obj map[string]any) (bool, error) {
	s, err := v.Structural()
	if err != nil || s == nil {
		return err == nil, err
	}
	for name, property := range s.Properties {
		if _, ok := obj[name]; !ok && property.Default.Object != nil {
			return false, nil
		}
	}
	return true, nil
}
