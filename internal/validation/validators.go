package validation

import (
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	apiservervalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// forObject returns the validator of whole objects. Without a schema it accepts everything.
func (v *Version) forObject() (apiservervalidation.SchemaValidator, error) {
	return v.objectValidator.get(func() (apiservervalidation.SchemaValidator, error) {
		props, err := v.schema()
		if err != nil {
			return nil, err
		}
		return newSchemaValidator(props)
	})
}

// forStatus returns the validator of what stands under status, nil when the status is no subresource or has no
// schema.
func (v *Version) forStatus() (apiservervalidation.SchemaValidator, error) {
	return v.statusValidator.get(func() (apiservervalidation.SchemaValidator, error) {
		if !v.HasStatus() {
			return nil, nil
		}
		props, err := v.schema()
		if err != nil || props == nil {
			return nil, err
		}
		status, ok := props.Properties["status"]
		if !ok {
			return nil, nil
		}
		return newSchemaValidator(&status)
	})
}

func newSchemaValidator(props *apiextensions.JSONSchemaProps) (apiservervalidation.SchemaValidator, error) {
	validator, _, err := apiservervalidation.NewSchemaValidator(props)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSchema, err)
	}
	return validator, nil
}

// validateChange holds a changed value against a schema; errors are dropped as the options say. To tell what has not changed
// costs more than all else, so the value is validated by itself first: what is valid so is valid as a change too, since
// the library drops errors, and drops none inside oneOf and not, where fewer would mean more.
func validateChange(path *field.Path, value, old any, validator apiservervalidation.SchemaValidator, options []apiservervalidation.ValidationOption) field.ErrorList {
	if len(apiservervalidation.ValidateCustomResource(path, value, validator)) == 0 {
		return nil
	}
	return apiservervalidation.ValidateCustomResourceUpdate(path, value, old, validator, options...)
}

// forRules returns the validator of x-kubernetes-validations rules, nil when there are none.
func (v *Version) forRules() (*cel.Validator, error) {
	return v.celValidator.get(func() (*cel.Validator, error) {
		s, err := v.Structural()
		if err != nil {
			return nil, err
		}
		return cel.NewValidator(s, true, celconfig.PerCallLimit), nil
	})
}
