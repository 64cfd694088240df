package crdhandler

import (
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
)

// definitionFields keeps account of the fields of CRDs, by the library. The versions of a CRD are one field: of a new CRD,
// which cannot differ from what was there before, the library need not see the schemas in them, which are most of it.
type definitionFields struct{ *managedfields.FieldManager }

var _ fieldManager = definitionFields{}

// UpdateNoErrors returns obj with the managed fields that follow from a manager's change of live into it.
func (f definitionFields) UpdateNoErrors(live, obj runtime.Object, manager string) runtime.Object {
	crd, ok := obj.(*apiextensions.CustomResourceDefinition)
	if !ok || accessor(live).GetUID() != "" {
		return f.FieldManager.UpdateNoErrors(live, obj, manager)
	}
	managed := f.FieldManager.UpdateNoErrors(live, withoutSchemas(crd), manager)
	crd.ManagedFields = accessor(managed).GetManagedFields()
	return crd
}

// withoutSchemas returns a CRD that shares everything with crd but the schemas, which it has not.
func withoutSchemas(crd *apiextensions.CustomResourceDefinition) *apiextensions.CustomResourceDefinition {
	bare := *crd
	bare.Spec.Validation = nil
	bare.Spec.Versions = slices.Clone(crd.Spec.Versions)
	for n := range bare.Spec.Versions {
		bare.Spec.Versions[n].Schema = nil
	}
	return &bare
}
