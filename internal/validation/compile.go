package validation

import (
	"errors"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	apiservervalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// ErrSchema means that the schema of a CRD cannot be compiled. The CRD endpoint accepts no such schema.
var ErrSchema = errors.New("the server could not properly serve the CR schema")

// Structural returns the structural schema of the version, with pruned defaults. It is nil if the CRD declares no schema, or one
// that is not structural and preserves unknown fields (T5). It is shared: the caller must not modify it.
func (v *Version) Structural() (*structuralschema.Structural, error) {
	return v.structural.get(v.compileStructural)
}

func (v *Version) compileStructural() (*structuralschema.Structural, error) {
	props, err := v.loadSchema()
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
	if err := defaulting.PruneDefaults(s); err != nil {
		return nil, fmt.Errorf("%w: pruning defaults: %w", ErrSchema, err)
	}
	return s, nil
}

// loadSchema decodes the version's schema, nil if there is none. The result belongs to the caller.
func (v *Version) loadSchema() (*apiextensions.JSONSchemaProps, error) {
	crd, err := v.set.load()
	if err != nil {
		return nil, fmt.Errorf("%w: reading it: %w", ErrSchema, err)
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

// objectSchema returns the schema as the object that applies it.
func (v *Version) objectSchema() (objectSchema, error) {
	return v.objects.get(func() (objectSchema, error) {
		s, err := v.Structural()
		if err != nil {
			return nil, err
		}
		return newObjectSchema(librarySchema{version: v, structural: s}), nil
	})
}

// embedded returns the structural schema if it has embedded resources, and nil otherwise. The library would search whole objects
// for them in vain.
func (v *Version) embedded() (*structuralschema.Structural, error) {
	s, err := v.Structural()
	if err != nil || !v.statistics().embedded {
		return nil, err
	}
	return s, nil
}

// openAPISchema returns the schema of whole objects for kube-openapi. Without a schema it accepts everything.
func (v *Version) openAPISchema() (*spec.Schema, error) {
	return v.openAPI.get(func() (*spec.Schema, error) {
		props, err := v.loadSchema()
		if err != nil {
			return nil, err
		}
		return convertToOpenAPI(props)
	})
}

// statusOpenAPISchema returns the schema of the status for kube-openapi. It is nil if the status is not a subresource or has no
// schema.
func (v *Version) statusOpenAPISchema() (*spec.Schema, error) {
	return v.statusOpenAPI.get(func() (*spec.Schema, error) {
		if !v.HasStatus() {
			return nil, nil
		}
		props, err := v.loadSchema()
		if err != nil || props == nil {
			return nil, err
		}
		status, ok := props.Properties["status"]
		if !ok {
			return nil, nil
		}
		return convertToOpenAPI(&status)
	})
}

func convertToOpenAPI(props *apiextensions.JSONSchemaProps) (*spec.Schema, error) {
	_, schema, err := apiservervalidation.NewSchemaValidator(props)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSchema, err)
	}
	return schema, nil
}

// rules returns the validator of x-kubernetes-validations, nil if there are none.
func (v *Version) rules() (*cel.Validator, error) {
	return v.celValidator.get(func() (*cel.Validator, error) {
		s, err := v.Structural()
		if err != nil {
			return nil, err
		}
		return cel.NewValidator(s, true, celconfig.PerCallLimit), nil
	})
}
