package validation

import (
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Default fills in what the schema of the object's version declares as defaults (T4). Objects of other kinds, and of
// versions that the CRD does not have, are left as they are.
func (s *Set) Default(obj map[string]any) error {
	u := unstructured.Unstructured{Object: obj}
	gvk := u.GroupVersionKind()
	if gvk.GroupKind() != s.kind {
		return nil
	}
	v := s.Version(gvk.Version)
	if v == nil {
		return nil
	}
	structural, err := v.Structural()
	if err != nil {
		return err
	}
	defaulting.Default(obj, structural)
	return nil
}
