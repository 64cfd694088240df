package validation

import (
	"errors"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
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
	s, err := newStructural(props)
	if v.set.crd.Spec.PreserveUnknownFields {
		if err != nil {
			return nil, nil
		}
		return s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: converting to a structural schema: %w", ErrSchema, err)
	}
	if err := defaulting.PruneDefaults(s); err != nil {
		return nil, fmt.Errorf("%w: pruning defaults: %w", ErrSchema, err)
	}
	return s, nil
}

// schema returns the version's schema, nil if there is none. It is not kept: each compiled part reads it once. It is the CRD's and must
// not be modified.
func (v *Version) schema() (*apiextensions.JSONSchemaProps, error) {
	crd, err := v.set.source.definition()
	if err != nil {
		return nil, err
	}
	declared, err := apiextensions.GetSchemaForVersion(crd, v.spec.Name)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrSchema, err)
	case declared == nil:
		return nil, nil
	}
	return declared.OpenAPIV3Schema, nil
}
