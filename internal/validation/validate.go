package validation

import (
	"context"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	schemaobjectmeta "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	apiservervalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apiextensionsfeatures "k8s.io/apiextensions-apiserver/pkg/features"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
)

// ValidateCreate validates a new object. The errors are in upstream's order: type, metadata, schema, scale, embedded
// metadata, list types, rules.
func (v *Version) ValidateCreate(ctx context.Context, obj *unstructured.Unstructured) field.ErrorList {
	c, err := v.compiled()
	if err != nil {
		return internalError(err)
	}
	errs := v.validateTypeMeta(obj)
	if len(errs) == 0 {
		errs = append(errs, v.validateObjectMeta(ctx, obj, nil)...)
		errs = append(errs, c.schema.validate(ctx, obj.Object)...)
		errs = append(errs, v.validateScaleSpec(obj)...)
		errs = append(errs, v.validateScaleStatus(obj)...)
	}
	errs = append(errs, schemaobjectmeta.Validate(ctx, nil, obj.Object, c.embedded, false)...)
	errs = append(errs, c.schema.validateLists(obj.Object)...)
	return append(errs, c.validateRules(ctx, errs, obj.Object, nil, nil)...)
}

// ValidateUpdate validates a changed object. It drops errors of unchanged values as far as upstream does (T8, T9).
func (v *Version) ValidateUpdate(ctx context.Context, obj, old *unstructured.Unstructured) field.ErrorList {
	return v.validateUpdate(ctx, obj, old, false)
}

// ValidateStatusUpdate validates an object whose status has changed. The schema applies to the status only, the rules
// to the whole object (S2).
func (v *Version) ValidateStatusUpdate(ctx context.Context, obj, old *unstructured.Unstructured) field.ErrorList {
	return v.validateUpdate(ctx, obj, old, true)
}

func (v *Version) validateUpdate(
	ctx context.Context, obj, old *unstructured.Unstructured, statusOnly bool,
) field.ErrorList {
	c, err := v.compiled()
	if err != nil {
		return internalError(err)
	}
	ratchet := newRatchet(c.structural, obj, old)
	defer ratchet.observe()

	validateSchema := c.schema.validateUpdate
	if statusOnly {
		validateSchema = c.schema.validateStatusUpdate
	}
	errs := v.validateTypeMeta(obj)
	if len(errs) == 0 {
		errs = append(errs, v.validateObjectMeta(ctx, obj, old)...)
		errs = append(errs, validateSchema(ctx, obj.Object, old.Object, ratchet)...)
		if !statusOnly {
			errs = append(errs, v.validateScaleSpec(obj)...)
		}
		errs = append(errs, v.validateScaleStatus(obj)...)
	}
	if !statusOnly {
		errs = append(errs, schemaobjectmeta.Validate(ctx, nil, obj.Object, c.embedded, false)...)
	}
	errs = append(errs, c.validateListsUpdate(obj, old)...)
	return append(errs, c.validateRules(ctx, errs, obj.Object, old.Object, ratchet)...)
}

// compiledVersion holds the parts that every validation needs.
type compiledVersion struct {
	schema               objectSchema
	structural, embedded *structuralschema.Structural
	rules                *cel.Validator // nil without rules
}

func (v *Version) compiled() (c compiledVersion, err error) {
	if c.schema, err = v.objectSchema(); err != nil {
		return c, err
	}
	if c.structural, err = v.Structural(); err != nil {
		return c, err
	}
	if c.embedded, err = v.embedded(); err != nil {
		return c, err
	}
	c.rules, err = v.rules()
	return c, err
}

// validateListsUpdate validates lists of type set and map, unless those of the old object are invalid too.
func (c *compiledVersion) validateListsUpdate(obj, old *unstructured.Unstructured) field.ErrorList {
	errs := c.schema.validateLists(obj.Object)
	if len(errs) > 0 && len(c.schema.validateLists(old.Object)) > 0 {
		return nil
	}
	return errs
}

// validateRules evaluates the x-kubernetes-validations rules, unless errs show that the object does not have the shape
// for which the rules were compiled (T10). old is nil on create.
func (c *compiledVersion) validateRules(
	ctx context.Context, errs field.ErrorList, obj, old map[string]any, ratchet *ratchet,
) field.ErrorList {
	if c.rules == nil {
		return nil
	}
	for _, err := range errs {
		switch err.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany,
			field.ErrorTypeTypeInvalid:
			return field.ErrorList{field.Invalid(nil, nil,
				"some validation rules were not checked because the object was invalid; correct the existing errors to complete "+
					"validation")}
		}
	}
	// The library would take an interface that holds a nil map for an old object.
	var oldObject any
	if old != nil {
		oldObject = old
	}
	// Correlating the objects costs more than most rules, so it is done only if a rule fails.
	found, _ := c.rules.Validate(ctx, nil, c.structural, obj, oldObject, celconfig.RuntimeCELCostBudget)
	if len(found) > 0 && ratchet != nil {
		found, _ = c.rules.Validate(ctx, nil, c.structural, obj, oldObject, celconfig.RuntimeCELCostBudget,
			cel.WithRatcheting(ratchet.correlated))
	}
	return found
}

func internalError(err error) field.ErrorList {
	return field.ErrorList{field.InternalError(nil, err)}
}

// ratchet correlates a changed object with the old one, so that errors of unchanged values can be dropped (T9). It is
// nil if the feature is disabled, or without the structural schema that correlating needs.
type ratchet struct {
	correlated *common.CorrelatedObject
}

func newRatchet(structural *structuralschema.Structural, obj, old *unstructured.Unstructured) *ratchet {
	if structural == nil || !utilfeature.DefaultFeatureGate.Enabled(apiextensionsfeatures.CRDValidationRatcheting) {
		return nil
	}
	return &ratchet{correlated: common.NewCorrelatedObject(obj.Object, old.Object, newCorrelatingSchema(structural))}
}

func (r *ratchet) schemaOptions() []apiservervalidation.ValidationOption {
	if r == nil {
		return nil
	}
	return []apiservervalidation.ValidationOption{apiservervalidation.WithRatcheting(r.correlated)}
}

func (r *ratchet) statusOptions() []apiservervalidation.ValidationOption {
	if r == nil {
		return nil
	}
	return []apiservervalidation.ValidationOption{apiservervalidation.WithRatcheting(r.correlated.Key("status"))}
}

// observe records the time that correlating took.
func (r *ratchet) observe() {
	if r != nil {
		apiservervalidation.Metrics.ObserveRatchetingTime(*r.correlated.Duration)
	}
}

// correlatingSchema is the schema of one correlation. The library's own converts all properties of an object whenever
// one of them is read; this one does so once. See docs/upstream.md, "Schemas of CEL convert all properties on every
// read".
type correlatingSchema struct {
	model.Structural
	properties map[string]common.Schema
}

func newCorrelatingSchema(s *structuralschema.Structural) *correlatingSchema {
	return &correlatingSchema{Structural: model.Structural{Structural: s}}
}

func (s *correlatingSchema) Properties() map[string]common.Schema {
	declared := s.Structural.Structural.Properties
	if s.properties == nil && declared != nil {
		s.properties = make(map[string]common.Schema, len(declared))
		for name := range declared {
			property := declared[name]
			s.properties[name] = newCorrelatingSchema(&property)
		}
	}
	return s.properties
}

func (s *correlatingSchema) Items() common.Schema {
	if s.Structural.Structural.Items == nil {
		return nil
	}
	return newCorrelatingSchema(s.Structural.Structural.Items)
}
