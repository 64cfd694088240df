package definitions

import (
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/validation"
)

// The limits of the schemas of a CRD, of all its versions together (C10).
const (
	// MaxSchemas bounds the schemas of properties and items. Compiled, each takes kilobytes.
	MaxSchemas = 40_000
	// MaxBranches bounds the members of allOf, anyOf, oneOf and not. "{}" is one.
	MaxBranches = 5_000
	// MaxDefaults bounds the schemas with a default.
	MaxDefaults = 5_000
	// MaxEnum bounds the values of enumerations. Each is encoded in the documents of OpenAPI.
	MaxEnum = 20_000
	// MaxDepth bounds how deep schemas are nested, because libraries visit all that is below a schema more than once.
	MaxDepth = 100
	// MaxRules bounds the rules (x-kubernetes-validations), whose programs take tens of kilobytes.
	MaxRules = 2_000
	// MaxRuleText bounds the length of all rules together.
	MaxRuleText = 256 << 10
	// MaxNesting bounds how deep schemas with rules are nested in each other, and schemas with defaults. The libraries
	// compile everything below such a schema for it once more.
	MaxNesting = 24
	// MaxFieldPathWork bounds the schemas below each rule with a fieldPath, which are converted to look up the path.
	MaxFieldPathWork = 1_000_000
	// MaxListMapKeys bounds x-kubernetes-list-map-keys.
	MaxListMapKeys = 100
)

// schemaSize is what the schemas of a CRD consist of.
type schemaSize struct {
	schemas, branches int
	enum, defaults    int
	rules, ruleText   int
	fieldPathWork     int
	instructions      int
	deepest           nesting
	listMapKeys       int // the most in one list
}

// nesting counts the schemas around a schema: all, and those with rules and with defaults.
type nesting struct{ all, rules, defaults int }

// schemaLimits checks the limits of the schemas of one CRD.
type schemaLimits struct{ size schemaSize }

// check adds the schema of some versions, and returns the limits that are exceeded then.
func (l *schemaLimits) check(
	schema *apiextensions.CustomResourceValidation, versions int, path *field.Path,
) field.ErrorList {
	if schema == nil || schema.OpenAPIV3Schema == nil {
		return nil
	}
	var one schemaSize
	one.add(*schema.OpenAPIV3Schema, nesting{})
	l.size.addTimes(one, versions)
	return l.size.errors(path.Child("openAPIV3Schema"))
}

// addTimes adds the size of a schema that several versions have.
func (s *schemaSize) addTimes(one schemaSize, times int) {
	s.schemas += times * one.schemas
	s.branches += times * one.branches
	s.enum += times * one.enum
	s.defaults += times * one.defaults
	s.rules += times * one.rules
	s.ruleText += times * one.ruleText
	s.fieldPathWork += times * one.fieldPathWork
	s.instructions += times * one.instructions
	s.deepest = deepest(s.deepest, one.deepest)
	s.listMapKeys = max(s.listMapKeys, one.listMapKeys)
}

func deepest(a, b nesting) nesting {
	return nesting{max(a.all, b.all), max(a.rules, b.rules), max(a.defaults, b.defaults)}
}

func (s *schemaSize) errors(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, limit := range []struct {
		n, most int
		detail  string
	}{
		{s.schemas, MaxSchemas, "must have at most %d schemas in all versions together"},
		{s.branches, MaxBranches, "must have at most %d schemas in allOf, anyOf, oneOf and not in all versions together"},
		{s.enum, MaxEnum, "must have at most %d values in enumerations in all versions together"},
		{s.defaults, MaxDefaults, "must have at most %d defaults in all versions together"},
		{s.deepest.all, MaxDepth, "must nest at most %d schemas"},
		{s.rules, MaxRules, "must have at most %d x-kubernetes-validations in all versions together"},
		{s.ruleText, MaxRuleText, "must have x-kubernetes-validations of at most %d bytes in all versions together"},
		{s.deepest.rules, MaxNesting, "must nest at most %d schemas with x-kubernetes-validations"},
		{s.deepest.defaults, MaxNesting, "must nest at most %d schemas with defaults"},
		{s.fieldPathWork, MaxFieldPathWork,
			"must have at most %d schemas below all x-kubernetes-validations with a fieldPath"},
		{s.instructions, MaxInstructions, "must have patterns of at most %d instructions in all versions together"},
		{s.listMapKeys, MaxListMapKeys, "must have at most %d x-kubernetes-list-map-keys in a list"},
	} {
		if limit.n > limit.most {
			errs = append(errs, field.Invalid(path, limit.n, fmt.Sprintf(limit.detail, limit.most)))
		}
	}
	return errs
}

// add counts a schema and all that is below it, whose number it returns. It stops below MaxDepth. It takes a value
// because a pointer would move every property to the heap.
func (s *schemaSize) add(props apiextensions.JSONSchemaProps, around nesting) (below int) {
	around.all++
	if len(props.XValidations) > 0 {
		around.rules++
	}
	if props.Default != nil {
		s.defaults++
		around.defaults++
	}
	s.deepest = deepest(s.deepest, around)
	s.schemas++
	s.enum += len(props.Enum)
	s.listMapKeys = max(s.listMapKeys, len(props.XListMapKeys))
	s.instructions += validation.PatternSize(props.Pattern)
	if around.all <= MaxDepth {
		below = s.addValues(&props, around) + s.addBranches(&props, around)
	}
	s.addRules(props.XValidations, below)
	return below + 1
}

// addValues counts the schemas of values inside the value of a schema.
func (s *schemaSize) addValues(props *apiextensions.JSONSchemaProps, around nesting) (below int) {
	for name := range props.Properties {
		below += s.add(props.Properties[name], around)
	}
	if items := props.Items; items != nil {
		below += s.addOptional(items.Schema, around)
		for n := range items.JSONSchemas {
			below += s.add(items.JSONSchemas[n], around)
		}
	}
	if additional := props.AdditionalProperties; additional != nil {
		below += s.addOptional(additional.Schema, around)
	}
	return below
}

// addBranches counts other schemas for the same value.
func (s *schemaSize) addBranches(props *apiextensions.JSONSchemaProps, around nesting) (below int) {
	for _, branches := range [][]apiextensions.JSONSchemaProps{props.AllOf, props.AnyOf, props.OneOf} {
		s.branches += len(branches)
		for n := range branches {
			below += s.add(branches[n], around)
		}
	}
	if props.Not != nil {
		s.branches++
	}
	return below + s.addOptional(props.Not, around)
}

func (s *schemaSize) addOptional(props *apiextensions.JSONSchemaProps, around nesting) (below int) {
	if props == nil {
		return 0
	}
	return s.add(*props, around)
}

func (s *schemaSize) addRules(rules apiextensions.ValidationRules, below int) {
	s.rules += len(rules)
	for n := range rules {
		rule := &rules[n]
		s.ruleText += len(rule.Rule) + len(rule.MessageExpression)
		s.instructions += expressionPatterns(rule.Rule) + expressionPatterns(rule.MessageExpression)
		if rule.FieldPath != "" {
			s.fieldPathWork += below + 1
		}
	}
}
