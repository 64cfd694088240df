package validation

import (
	"context"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	apiservervalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// root returns the schema as nodes. Without a schema every value is valid; one that is not structural is left to the
// library.
func (v *Version) root() (*node, error) {
	return v.nodes.get(func() (*node, error) {
		s, err := v.Structural()
		switch {
		case err != nil:
			return nil, err
		case s == nil && v.set.crd.Spec.PreserveUnknownFields:
			return &node{opaque: true}, nil
		case s == nil:
			return compileNode(&structuralschema.Structural{}), nil
		}
		return compileNode(s), nil
	})
}

// statusNode is the schema's part for the status.
func (n *node) statusNode() *node {
	switch {
	case n.object != nil:
		if declared := n.object.properties.get("status"); declared != nil {
			return declared
		}
	case n.opaque:
		return n
	}
	return &node{types: anyKind}
}

// checkStatus holds a status against its part of the schema.
func (n *node) checkStatus(status any) verdict { return n.statusNode().check(status) }

// validateSchema holds a new object against the schema.
func (v *Version) validateSchema(ctx context.Context, root *node, obj *unstructured.Unstructured) field.ErrorList {
	if root.check(obj.Object) == valid {
		return nil
	}
	schema, err := v.forObject()
	if err != nil {
		return internalError(err)
	}
	return faults(ctx, root, schema, func(validator apiservervalidation.SchemaValidator) field.ErrorList {
		return apiservervalidation.ValidateCustomResource(nil, obj.Object, validator)
	})
}

// validateSchemaChange holds a changed object against the schema. What is valid by itself is valid as a change
// too, since the library drops errors, and drops none inside oneOf and not, where fewer would mean more.
func (v *Version) validateSchemaChange(ctx context.Context, root *node, obj, old *unstructured.Unstructured, ratchet *ratchet) field.ErrorList {
	if root.check(obj.Object) == valid {
		return nil
	}
	schema, err := v.forObject()
	if err != nil {
		return internalError(err)
	}
	return faults(ctx, root, schema, func(validator apiservervalidation.SchemaValidator) field.ErrorList {
		return apiservervalidation.ValidateCustomResourceUpdate(nil, obj.Object, old.Object, validator, ratchet.schemaOptions()...)
	})
}

// validateStatusChange holds a changed status, where it is a subresource, against its part of the schema.
func (v *Version) validateStatusChange(ctx context.Context, root *node, obj, old *unstructured.Unstructured, ratchet *ratchet) field.ErrorList {
	status, ok := obj.Object["status"]
	if !ok || root.checkStatus(status) == valid {
		return nil
	}
	schema, err := v.forStatus()
	switch {
	case err != nil:
		return internalError(err)
	case schema == nil:
		return nil
	}
	return faults(ctx, root.statusNode(), schema, func(validator apiservervalidation.SchemaValidator) field.ErrorList {
		return apiservervalidation.ValidateCustomResourceUpdate(field.NewPath("status"), status, old.Object["status"], validator, ratchet.statusOptions()...)
	})
}
