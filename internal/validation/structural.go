package validation

import (
	"errors"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
)

// ErrSchema is met when the schema of a CRD cannot be compiled. What the CRD endpoint accepts can be.
var ErrSchema = errors.New("the server could not properly serve the CR schema")

// Structural returns the structural schema of the version, with its defaults pruned. It is nil when the CRD declares no schema,
// or one that is not structural and preserves unknown fields (T5). It is shared: the caller must not modify it.
func (v *Version) Structural() (*structuralschema.Structural, error) {
	return v.structural.get(v.compileStructural)
}

func (v *Version) compileStructural() (*structuralschema.Structural, error) {
	props, err := v.schema()
	if err != nil || props == nil {
		return nil, err
	}
	s, err := structuralschema.NewStructural(props)
	if v.set.crd.Spec.PreserveUnknownFields {
		if err != nil {
			return nil, nil
		}
		return s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: converting to a structural schema: %w", ErrSchema, err)
	}
	// Pruning modifies the defaults in place. They are ours: the conversion in schema has decoded them anew.
	if err := defaulting.PruneDefaults(s); err != nil {
		return nil, fmt.Errorf("%w: pruning defaults: %w", ErrSchema, err)
	}
	return s, nil
}

// schema returns the version's schema in the internal form that the libraries take, nil if there is none. It is converted
// for every call and not kept: each compiled part reads it once.
func (v *Version) schema() (*apiextensions.JSONSchemaProps, error) {
	crd, err := v.set.source.definition()
	if err != nil {
		return nil, err
	}
	declared := declaredSchema(crd, v.spec.Name)
	if declared == nil {
		return nil, nil
	}
	internal := &apiextensions.CustomResourceValidation{}
	if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(declared, internal, nil); err != nil {
		return nil, fmt.Errorf("%w: converting to the internal version: %w", ErrSchema, err)
	}
	return internal.OpenAPIV3Schema, nil
}
