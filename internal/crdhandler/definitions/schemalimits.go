package definitions

import (
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/validation"
)

// The limits of the schemas of a CRD, of all its versions together (C10). Each is about ten times the largest value in
// real CRDs, which TestSurvey measures.
const (
	// MaxSchemas bounds the schemas of properties and items. Compiled, each takes kilobytes.
	MaxSchemas = 120_000
	// MaxBranches bounds the members of allOf, anyOf, oneOf and not. "{}" is one.
	MaxBranches = 6_000
	// MaxDefaults bounds the schemas with a default.
	MaxDefaults = 7_500
	// MaxEnum bounds the values of enumerations. Each is encoded in the documents of OpenAPI.
	MaxEnum = 20_000
	// MaxDepth bounds how deep schemas are nested.
	MaxDepth = 250
	// MaxLevels bounds the depths of all schemas together, because libraries visit all that is below a schema more than
	// once.
	MaxLevels = 1_400_000
	// MaxRules bounds the rules (x-kubernetes-validations), whose programs take tens of kilobytes.
	MaxRules = 2_200
	// MaxRuleText bounds the length of all rules together.
	MaxRuleText = 256 << 10
	// MaxNesting bounds how deep schemas with rules are nested in each other, and schemas with defaults.
	MaxNesting = 80
	// MaxBelow bounds the schemas below all schemas with rules together, and those below all schemas with defaults. The
	// libraries compile everything below such a schema for it once more. A default of the whole spec has all schemas of
	// the version below it, so that ten times the largest value among defaults would be too little.
	MaxBelow = 100_000
	// MaxRulesBelow bounds the rules below all schemas with defaults together. The libraries compile them to validate
	// the default.
	MaxRulesBelow = 5_000
	// MaxFieldPathWork bounds the schemas below each rule with a fieldPath, which are converted to look up the path. It
	// allows nine such rules for all of the largest CRD, although real ones are for few schemas.
	MaxFieldPathWork = 100_000
	// MaxListMapKeys bounds x-kubernetes-list-map-keys.
	MaxListMapKeys = 100
)

// schemaSize is what the schemas of a CRD consist of.
type schemaSize struct {
	schemas, branches, levels int
	enum, defaults            int
	rules, ruleText           int
	belowRules, belowDefaults int
	rulesBelowDefaults        int
	fieldPathWork             int
	instructions              int
	deepest                   nesting
	listMapKeys               int // the most in one list
}

// nesting counts the schemas around a schema: all, and those with rules and with defaults.
type nesting struct{ all, rules, defaults int }

// content counts what is below a schema.
type content struct{ schemas, rules int }

func (c *content) add(more content) { c.schemas, c.rules = c.schemas+more.schemas, c.rules+more.rules }

// check adds the schema of some versions, and returns the limits that are exceeded then.
func (s *schemaSize) check(
	schema *apiextensions.CustomResourceValidation, versions int, path *field.Path,
) field.ErrorList {
	if schema == nil || schema.OpenAPIV3Schema == nil {
		return nil
	}
	var one schemaSize
	one.add(*schema.OpenAPIV3Schema, nesting{})
	s.addTimes(one, versions)
	return s.errors(path.Child("openAPIV3Schema"))
}

// addTimes adds the size of a schema that several versions have.
func (s *schemaSize) addTimes(one schemaSize, times int) {
	s.schemas += times * one.schemas
	s.branches += times * one.branches
	s.levels += times * one.levels
	s.enum += times * one.enum
	s.defaults += times * one.defaults
	s.rules += times * one.rules
	s.ruleText += times * one.ruleText
	s.belowRules += times * one.belowRules
	s.belowDefaults += times * one.belowDefaults
	s.rulesBelowDefaults += times * one.rulesBelowDefaults
	s.fieldPathWork += times * one.fieldPathWork
	s.instructions += times * one.instructions
	s.deepest = deepest(s.deepest, one.deepest)
	s.listMapKeys = max(s.listMapKeys, one.listMapKeys)
}

func deepest(a, b nesting) nesting {
	return nesting{max(a.all, b.all), max(a.rules, b.rules), max(a.defaults, b.defaults)}
}

// schemaLimit is a limit, and how much of it a CRD takes.
type schemaLimit struct {
	n, most int
	detail  string
}

func (s *schemaSize) limits() []schemaLimit {
	return []schemaLimit{
		{s.schemas, MaxSchemas, "must have at most %d schemas in all versions together"},
		{s.branches, MaxBranches, "must have at most %d schemas in allOf, anyOf, oneOf and not in all versions together"},
		{s.enum, MaxEnum, "must have at most %d values in enumerations in all versions together"},
		{s.defaults, MaxDefaults, "must have at most %d defaults in all versions together"},
		{s.deepest.all, MaxDepth, "must nest at most %d schemas"},
		{s.levels, MaxLevels, "must have at most %d levels around all schemas in all versions together"},
		{s.rules, MaxRules, "must have at most %d x-kubernetes-validations in all versions together"},
		{s.ruleText, MaxRuleText, "must have x-kubernetes-validations of at most %d bytes in all versions together"},
		{s.deepest.rules, MaxNesting, "must nest at most %d schemas with x-kubernetes-validations"},
		{s.deepest.defaults, MaxNesting, "must nest at most %d schemas with defaults"},
		{s.belowRules, MaxBelow, "must have at most %d schemas below all schemas with x-kubernetes-validations"},
		{s.belowDefaults, MaxBelow, "must have at most %d schemas below all schemas with defaults"},
		{s.rulesBelowDefaults, MaxRulesBelow,
			"must have at most %d x-kubernetes-validations below all schemas with defaults"},
		{s.fieldPathWork, MaxFieldPathWork,
			"must have at most %d schemas below all x-kubernetes-validations with a fieldPath"},
		{s.instructions, MaxInstructions, "must have patterns of at most %d instructions in all versions together"},
		{s.listMapKeys, MaxListMapKeys, "must have at most %d x-kubernetes-list-map-keys in a list"},
	}
}

func (s *schemaSize) errors(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, limit := range s.limits() {
		if limit.n > limit.most {
			errs = append(errs, field.Invalid(path, limit.n, fmt.Sprintf(limit.detail, limit.most)))
		}
	}
	return errs
}

// add counts a schema and all that is below it, and returns that. It stops below MaxDepth. It takes a value because a
// pointer would move every property to the heap.
func (s *schemaSize) add(props apiextensions.JSONSchemaProps, around nesting) content {
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
	s.levels += around.all
	s.enum += len(props.Enum)
	s.listMapKeys = max(s.listMapKeys, len(props.XListMapKeys))
	s.instructions += validation.PatternSize(props.Pattern)
	all := content{1, len(props.XValidations)}
	if around.all <= MaxDepth {
		all.add(s.addValues(&props, around))
		all.add(s.addBranches(&props, around))
	}
	s.addRules(props.XValidations, all.schemas)
	if props.Default != nil {
		s.belowDefaults += all.schemas
		s.rulesBelowDefaults += all.rules
	}
	return all
}

// addValues counts the schemas of values inside the value of a schema.
func (s *schemaSize) addValues(props *apiextensions.JSONSchemaProps, around nesting) (below content) {
	for name := range props.Properties {
		below.add(s.add(props.Properties[name], around))
	}
	if items := props.Items; items != nil {
		below.add(s.addOptional(items.Schema, around))
		for n := range items.JSONSchemas {
			below.add(s.add(items.JSONSchemas[n], around))
		}
	}
	if additional := props.AdditionalProperties; additional != nil {
		below.add(s.addOptional(additional.Schema, around))
	}
	return below
}

// addBranches counts other schemas for the same value.
func (s *schemaSize) addBranches(props *apiextensions.JSONSchemaProps, around nesting) (below content) {
	for _, branches := range [][]apiextensions.JSONSchemaProps{props.AllOf, props.AnyOf, props.OneOf} {
		s.branches += len(branches)
		for n := range branches {
			below.add(s.add(branches[n], around))
		}
	}
	if props.Not != nil {
		s.branches++
		below.add(s.addOptional(props.Not, around))
	}
	return below
}

func (s *schemaSize) addOptional(props *apiextensions.JSONSchemaProps, around nesting) content {
	if props == nil {
		return content{}
	}
	return s.add(*props, around)
}

// addRules counts the rules of a schema, which has a number of schemas with those below it.
func (s *schemaSize) addRules(rules apiextensions.ValidationRules, schemas int) {
	if len(rules) > 0 {
		s.belowRules += schemas
	}
	s.rules += len(rules)
	for n := range rules {
		rule := &rules[n]
		s.ruleText += len(rule.Rule) + len(rule.MessageExpression)
		s.instructions += expressionPatterns(rule.Rule) + expressionPatterns(rule.MessageExpression)
		if rule.FieldPath != "" {
			s.fieldPathWork += schemas
		}
	}
}
