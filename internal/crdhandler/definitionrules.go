package crdhandler

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// definitionRules are upstream's rules for CRDs, which panic when fields are selectable of a schema that is not structural.
type definitionRules struct{ strategy }

func (r definitionRules) Validate(ctx context.Context, obj runtime.Object) field.ErrorList {
	crd, errs := withoutUnfoundedFields(obj.(*apiextensions.CustomResourceDefinition))
	return append(errs, r.strategy.Validate(ctx, crd)...)
}

func (r definitionRules) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	crd, errs := withoutUnfoundedFields(obj.(*apiextensions.CustomResourceDefinition))
	return append(errs, r.strategy.ValidateUpdate(ctx, crd, old)...)
}

// withoutUnfoundedFields returns crd without the selectable fields that it has on schemas that are not structural, and an error, in
// upstream's words, for each such schema. A crd without any is returned as it is.
func withoutUnfoundedFields(crd *apiextensions.CustomResourceDefinition) (*apiextensions.CustomResourceDefinition, field.ErrorList) {
	errs := field.ErrorList{}
	stripped := *crd
	spec := field.NewPath("spec")
	if err := structureError(crd.Spec.SelectableFields, crd.Spec.Validation); err != nil {
		errs = append(errs, field.Invalid(spec.Child("schema.openAPIV3Schema"), "", err.Error()))
		stripped.Spec.SelectableFields = nil
	}
	stripped.Spec.Versions = slices.Clone(crd.Spec.Versions)
	for i, version := range crd.Spec.Versions {
		if err := structureError(version.SelectableFields, version.Schema); err != nil {
			errs = append(errs, field.Invalid(spec.Child("versions").Index(i).Child("schema.openAPIV3Schema"), "", err.Error()))
			stripped.Spec.Versions[i].SelectableFields = nil
		}
	}
	if len(errs) == 0 {
		return crd, nil
	}
	return &stripped, errs
}

// structureError says why fields cannot be looked up in a schema; nil if they can, if there are none or no schema at all.
func structureError(fields []apiextensions.SelectableField, schema *apiextensions.CustomResourceValidation) error {
	if len(fields) == 0 || schema == nil {
		return nil
	}
	if schema.OpenAPIV3Schema == nil {
		return errNoSchema
	}
	_, err := structuralschema.NewStructural(schema.OpenAPIV3Schema)
	return err
}

var errNoSchema = errors.New("is needed for selectableFields")
