package crdhandler

import (
	"context"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
)

// definitionFields keeps account of the fields of CRDs, by the library. The versions of a CRD are one field: of a new CRD,
// which cannot differ from what was there before, the library need not see the schemas in them, which are most of it.
type definitionFields struct{ library *managedfields.FieldManager }

var _ fieldManager = definitionFields{}

// Update returns obj with the managed fields that follow from a manager's change of live into it. It does not fail.
func (f definitionFields) Update(_ context.Context, live, obj runtime.Object, manager string) (runtime.Object, error) {
	orderFields(obj)
	crd, ok := obj.(*apiextensions.CustomResourceDefinition)
	if !ok || accessor(live).GetUID() != "" {
		return f.library.UpdateNoErrors(live, obj, manager), nil
	}
	managed := f.library.UpdateNoErrors(live, withoutSchemas(crd), manager)
	crd.ManagedFields = accessor(managed).GetManagedFields()
	return crd, nil
}

// Apply returns live with what a manager has applied merged into it.
func (f definitionFields) Apply(_ context.Context, live, applied runtime.Object, manager string, force bool) (runtime.Object, error) {
	return f.library.Apply(live, applied, manager, force)
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
