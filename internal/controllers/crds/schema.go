package crds

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// nonStructural returns the condition NonStructuralSchema, or nil if all schemas are structural. Only CRDs created
// before v1 can have schemas that are not.
func nonStructural(crd *apiextensions.CustomResourceDefinition) *condition {
	var errs field.ErrorList
	if preserve := crd.Spec.PreserveUnknownFields; preserve != nil && *preserve {
		errs = append(errs, field.Invalid(field.NewPath("spec", "preserveUnknownFields"), true, "must be false"))
	}
	for n := range crd.Spec.Versions {
		version := crd.Spec.Versions[n].Name
		schema, err := structural(crd, version)
		if err != nil {
			return &condition{
				Type:    apiextensionsv1.NonStructuralSchema,
				Status:  apiextensionsv1.ConditionUnknown,
				Reason:  "StructuralError",
				Message: fmt.Sprintf("failed to check validation schema for version %s: %v", version, err),
			}
		}
		if schema != nil {
			path := field.NewPath("spec", "versions").Index(n).Child("schema", "openAPIV3Schema")
			errs = append(errs, structuralschema.ValidateStructural(path, schema)...)
		}
	}
	if len(errs) == 0 {
		return nil
	}
	// The library returns them in map order. The message must be the same every time.
	// See docs/upstream.md, "Structural errors have no order".
	slices.SortStableFunc(errs, func(a, b *field.Error) int { return strings.Compare(a.Error(), b.Error()) })
	violations := isTrue(apiextensionsv1.NonStructuralSchema, "Violations", errs.ToAggregate().Error())
	return &violations
}

func structural(crd *apiextensions.CustomResourceDefinition, version string) (*structuralschema.Structural, error) {
	validation, err := apiextensions.GetSchemaForVersion(crd, version)
	if err != nil || validation == nil || validation.OpenAPIV3Schema == nil {
		return nil, err
	}
	return structuralschema.NewStructural(validation.OpenAPIV3Schema)
}
