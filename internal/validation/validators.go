package validation

import (
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	apiservervalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
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

// forRules returns the validator of x-kubernetes-validations rules, nil when there are none.
func (v *Version) forRules() (*cel.Validator, error) {
	return v.celValidator.get(func() (*cel.Validator, error) {
		s, err := v.Structural()
		if err != nil {
			return nil, err
		}
		rules := cel.NewValidator(s, true, celconfig.PerCallLimit)
		narrow(rules, true)
		return rules, nil
	})
}
