package validation

import (
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	apiservervalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// forObject returns the schema of whole objects as the library takes it. Without a schema it accepts everything.
func (v *Version) forObject() (*spec.Schema, error) {
	return v.objectSchema.get(func() (*spec.Schema, error) {
		props, err := v.schema()
		if err != nil {
			return nil, err
		}
		return openAPISchema(props)
	})
}

// forStatus returns the schema of what stands under status, nil when the status is no subresource or has no
// schema.
func (v *Version) forStatus() (*spec.Schema, error) {
	return v.statusSchema.get(func() (*spec.Schema, error) {
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
		return openAPISchema(&status)
	})
}

func openAPISchema(props *apiextensions.JSONSchemaProps) (*spec.Schema, error) {
	_, schema, err := apiservervalidation.NewSchemaValidator(props)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSchema, err)
	}
	return schema, nil
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
