package validation

import (
	"context"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	schemaobjectmeta "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// ValidateCreate validates a new object. The errors come in upstream's order: type, metadata, schema, scale, embedded
// metadata, list types, rules.
func (v *Version) ValidateCreate(ctx context.Context, obj *unstructured.Unstructured) field.ErrorList {
	parts, err := v.parts()
	if err != nil {
		return internalError(err)
	}
	errs := v.validateTypeMeta(obj)
	if len(errs) == 0 {
		errs = append(errs, v.validateObjectMeta(ctx, obj, nil)...)
		errs = append(errs, v.validateSchema(ctx, parts.root, obj)...)
		errs = append(errs, v.validateScaleSpec(obj)...)
		errs = append(errs, v.validateScaleStatus(obj)...)
	}
	errs = append(errs, schemaobjectmeta.Validate(ctx, nil, obj.Object, parts.embedded, false)...)
	errs = append(errs, v.validateUnique(parts.lists, obj.Object)...)
	return append(errs, parts.validateRules(ctx, errs, obj.Object, nil, nil)...)
}

// ValidateUpdate validates a changed object. Errors at values that have not changed are dropped where they can be told (T8,
// T9).
func (v *Version) ValidateUpdate(ctx context.Context, obj, old *unstructured.Unstructured) field.ErrorList {
	parts, err := v.parts()
	if err != nil {
		return internalError(err)
	}
	ratchet := newRatchet(parts.structural, obj, old)
	defer ratchet.observe()

	errs := v.validateTypeMeta(obj)
	if len(errs) == 0 {
		errs = append(errs, v.validateObjectMeta(ctx, obj, old)...)
		errs = append(errs, v.validateSchemaChange(ctx, parts.root, obj, old, ratchet)...)
		errs = append(errs, v.validateScaleSpec(obj)...)
		errs = append(errs, v.validateScaleStatus(obj)...)
	}
	errs = append(errs, schemaobjectmeta.Validate(ctx, nil, obj.Object, parts.embedded, false)...)
	errs = append(errs, v.validateListTypes(parts.lists, obj, old)...)
	return append(errs, parts.validateRules(ctx, errs, obj.Object, old.Object, ratchet)...)
}

// ValidateStatusUpdate validates an object whose status has changed: the schema is held against the status only, the rules
// against the whole object (S2).
func (v *Version) ValidateStatusUpdate(ctx context.Context, obj, old *unstructured.Unstructured) field.ErrorList {
	parts, err := v.parts()
	if err != nil {
		return internalError(err)
	}
	ratchet := newRatchet(parts.structural, obj, old)
	defer ratchet.observe()

	errs := v.validateTypeMeta(obj)
	if len(errs) == 0 {
		errs = append(errs, v.validateObjectMeta(ctx, obj, old)...)
		errs = append(errs, v.validateStatusChange(ctx, parts.root, obj, old, ratchet)...)
		errs = append(errs, v.validateScaleStatus(obj)...)
	}
	errs = append(errs, v.validateListTypes(parts.lists, obj, old)...)
	return append(errs, parts.validateRules(ctx, errs, obj.Object, old.Object, ratchet)...)
}

// parts are the compiled parts that every validation needs.
type parts struct {
	root                 *node
	lists                *uniqueLists
	structural, embedded *structuralschema.Structural
	rules                *cel.Validator // nil without rules
}

func (v *Version) parts() (p parts, err error) {
	if p.structural, err = v.Structural(); err != nil {
		return p, err
	}
	if p.root, err = v.root(); err != nil {
		return p, err
	}
	if p.embedded, err = v.embedded(); err != nil {
		return p, err
	}
	if p.lists, err = v.lists(); err != nil {
		return p, err
	}
	p.rules, err = v.forRules()
	return p, err
}

// validateListTypes holds lists of type set and map to their keys, unless the old object failed already.
func (v *Version) validateListTypes(lists *uniqueLists, obj, old *unstructured.Unstructured) field.ErrorList {
	errs := v.validateUnique(lists, obj.Object)
	if len(errs) > 0 && len(v.validateUnique(lists, old.Object)) > 0 {
		return nil
	}
	return errs
}

// validateRules runs the x-kubernetes-validations rules, unless the errors so far say that the object has not the shape
// that the rules were compiled for (T10). old is nil on create.
func (p *parts) validateRules(ctx context.Context, errs field.ErrorList, obj, old map[string]any, ratchet *ratchet) field.ErrorList {
	if p.rules == nil {
		return nil
	}
	for _, err := range errs {
		switch err.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			return field.ErrorList{field.Invalid(nil, nil, "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation")}
		}
	}
	// An interface that holds a nil map is an old object, which a create has not.
	var oldObject any
	if old != nil {
		oldObject = old
	}
	// To tell what has not changed costs more than most rules, and is asked for only where one fails.
	found, _ := p.rules.Validate(ctx, nil, p.structural, obj, oldObject, celconfig.RuntimeCELCostBudget)
	if len(found) > 0 && ratchet != nil {
		found, _ = p.rules.Validate(ctx, nil, p.structural, obj, oldObject, celconfig.RuntimeCELCostBudget, cel.WithRatcheting(ratchet.correlated))
	}
	return found
}

func internalError(err error) field.ErrorList {
	return field.ErrorList{field.InternalError(nil, err)}
}
